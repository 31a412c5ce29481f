// A changed configuration is taken up whole, between two requests, and opens no gap in which something would execute twice.
import { once } from 'node:events'
import http from 'node:http'
import t from 'tap'
import { scrape } from '../helpers/scrape.ts'
import { type Answer, send } from '../helpers/client.ts'
import { fingerprintOf, replayed, stage } from '../helpers/stage.ts'
import { within } from '../helpers/until.ts'
import { json, latch, startUpstream } from '../helpers/upstream.ts'

const rule = (name: string, more = '') => `
  - name: ${name}
    match: { path: /pay }
    owner: none
    fingerprint: { order: body.order }
    ${more}
`
const OTHER = rule('other').replace('/pay', '/other')
const pay = (order: number, more: object = {}) => ({ body: { order, ...more } })
const document = (answer: Answer) => JSON.parse(answer.text) as Record<string, any>

t.test('a record made under other rules still answers: renamed, derived otherwise, moved to another rule', async (t) => {
  const { gateway, upstream, ask } = await stage(t, { rules: rule('pay') })
  const first = await ask('/pay', pay(1))
  t.equal(first.status, 200)
  const changes = {
    renamed: rule('payments'),
    'other parts': rule('pay').replace('{ order: body.order }', '{ order: body.order, action: { value: PAY } }'),
    'an owner': rule('pay').replace('owner: none', 'owner: header.authorization'),
    'a digest': rule('pay', 'digest: [body]'),
    'method and path left out': rule('pay', 'scope: rule'),
    'another pattern': rule('pay').replace('/pay', '/:what'),
    'chosen by what it says': rule('special', '').replace('{ path: /pay }', '{ path: /pay, where: { body.order: 1 } }') + rule('pay'),
  }
  for (const [change, rules] of Object.entries(changes)) {
    gateway.rewrite(rules)
    t.match(await gateway.reload('test'), { kind: 'applied' }, change)
    const again = await ask('/pay', pay(1))
    t.ok(replayed(again), change)
    t.equal(again.text, first.text)
    t.equal(fingerprintOf(again), fingerprintOf(first), 'under the name that its record has')
    t.notOk(replayed(await ask('/pay', pay(Math.random()))), 'a new wish is executed')
  }
  t.equal(upstream.count(), 1 + Object.keys(changes).length)
})

t.test('what is compared is compared as it was when the record was made', async (t) => {
  const { gateway, ask } = await stage(t, { rules: rule('pay', 'digest: [body.amount]') })
  await ask('/pay', pay(1, { amount: 5 }))
  gateway.rewrite(rule('pay', 'digest: [body]'))
  await gateway.reload('test')
  t.ok(replayed(await ask('/pay', pay(1, { amount: 5, note: 'sent again' }))))
  const other = await ask('/pay', pay(1, { amount: 6 }))
  t.match(document(other), { type: 'urn:oncegate:key-reused', differs: ['/amount'] })
})

t.test('a change that touches no name changes no fingerprint', async (t) => {
  const { gateway, ask, upstream } = await stage(t, { rules: rule('pay') })
  const first = fingerprintOf(await ask('/pay', pay(1)))
  gateway.rewrite(rule('pay', 'ttl: 48h').replace('{ path: /pay }', '{ path: [/pay, /refund] }'))
  await gateway.reload('test')
  t.equal(fingerprintOf(await ask('/pay', pay(1))), first)
  t.equal(fingerprintOf(await ask('/pay', pay(2))).length, 44)
  t.equal(upstream.count(), 2)
})

t.test('what is in flight when the rules change is met by its duplicates, and ends as it began', async (t) => {
  const door = latch()
  const held = await startUpstream(async (_request, response) => {
    await door.opened
    json(response, 200, { from: 'held' })
  })
  const next = await startUpstream((_request, response) => json(response, 200, { from: 'next' }))
  t.teardown(() => Promise.all([held.close(), next.close()]))
  const { gateway, ask } = await stage(t, { upstream: next, rules: rule('pay', `upstream: ${held.url}`) })
  const first = ask('/pay', pay(1))
  await within('the first at its upstream', held.arrived(1))
  gateway.rewrite(rule('payments'))
  t.match(await gateway.reload('test'), { kind: 'applied' })
  t.equal((await ask('/pay', pay(1))).status, 425)
  t.same(document(await ask('/pay', pay(2))), { from: 'next' }, 'a new request goes where the new rules send it')
  door.open()
  t.same(
    document(await within('the end of the first', first)),
    { from: 'held' },
    'connections that nobody names any more end with their last request',
  )
  t.same(document(await ask('/pay', pay(1))), { from: 'held' })
  t.same([held.count(), next.count()], [1, 1])
})

t.test('a request whose body comes while the rules change is named under both', async (t) => {
  const { gateway, ask, upstream } = await stage(t, { rules: rule('pay') })
  const slow = http.request(`${gateway.url}/pay`, { method: 'POST', headers: { 'content-type': 'application/json' } })
  const answered = once(slow, 'response')
  await new Promise((resolve) => slow.write('{"order":', resolve))
  // It has met its rule when a request that came later has been answered.
  await ask('/other', { method: 'GET' })
  gateway.rewrite(rule('payments'))
  await gateway.reload('test')
  t.notOk(replayed(await ask('/pay', pay(7))))
  slow.end('7}')
  const [response] = (await within('the slow one', answered)) as [http.IncomingMessage]
  t.equal(response.headers['idempotency-replayed'], 'true')
  response.resume()
  t.equal(upstream.count('/pay'), 1)
})

t.test('a bad file changes nothing, and says so in the log, the metrics and on the admin port', async (t) => {
  const { gateway, ask, upstream } = await stage(t, { rules: rule('pay') })
  const before = document(await send(`${gateway.adminUrl}/config`, { method: 'GET' }))
  const bad = {
    'no YAML': ['  - [', /./],
    'an unknown field': [OTHER + rule('pay', 'ttll: 5m'), /ttll.*did you mean/s],
    'a bad pattern': [OTHER + rule('pay').replace('body.order', '{ from: body.order, apply: [{ regex: "(" }] }'), /regex|expression/],
  } as const
  for (const [what, [rules, says]] of Object.entries(bad)) {
    gateway.rewrite(rules)
    const answer = await send(`${gateway.adminUrl}/reload`, { method: 'POST' })
    t.match(document(answer), { type: 'urn:oncegate:config-invalid', status: 422, version: before.version, mistakes: [says] }, what)
    t.match(document(await send(`${gateway.adminUrl}/config`, { method: 'GET' })), {
      version: before.version,
      applied_at: before.applied_at,
      error: { mistakes: [says] },
    })
    t.match(document(await send(`${gateway.adminUrl}/readyz`, { method: 'GET' })), {
      status: 'ready',
      config: { version: before.version, error: { mistakes: 1 } },
    })
    t.equal((await scrape(gateway)).value('oncegate_config_reload_failed'), 1)
    t.ok(gateway.log.some(({ level, mistakes }) => level === 50 && says.test(String(mistakes))))
    t.equal((await ask('/pay', pay(1))).status, 200)
    t.notOk((await ask('/other', { body: { order: 1 } })).headers['idempotency-fingerprint'], 'none of its rules counts')
  }
  gateway.rewrite(rule('pay'))
  t.match(document(await send(`${gateway.adminUrl}/reload`, { method: 'POST' })), { result: 'unchanged', error: null })
  t.equal((await scrape(gateway)).value('oncegate_config_reload_failed'), 0)
  t.equal(upstream.count('/pay'), 1)
})

t.test('what only a start can change is refused, by name, with all that came along', async (t) => {
  const { gateway, ask } = await stage(t, { rules: rule('pay') })
  const first = fingerprintOf(await ask('/pay', pay(1)))
  gateway.rewrite(rule('payments'), 'statusPath: /state\nsecret: another\nshutdownGrace: 1s')
  const answer = document(await send(`${gateway.adminUrl}/reload`, { method: 'POST' }))
  t.same(answer.mistakes, ['a restart is needed for: secret, statusPath, shutdownGrace'])
  t.equal(fingerprintOf(await ask('/pay', pay(1))), first)
})

t.test('rules come and go with their series', async (t) => {
  const { gateway, ask } = await stage(t, { rules: rule('pay') })
  await ask('/pay', pay(1))
  gateway.rewrite(rule('payments'))
  await gateway.reload('test')
  const text = (await send(`${gateway.adminUrl}/metrics`, { method: 'GET' })).text
  t.match(text, /oncegate_requests_total\{rule="payments",outcome="executed"\} 0/)
  t.notMatch(text, /rule="pay"/)
  gateway.rewrite(rule('pay'))
  await gateway.reload('test')
  t.match((await send(`${gateway.adminUrl}/metrics`, { method: 'GET' })).text, /oncegate_requests_total\{rule="pay",outcome="executed"\} 1/)
})

t.test('limits that stay the same go on counting', async (t) => {
  const door = latch()
  const { gateway, ask, upstream } = await stage(t, {
    rules: rule('pay', 'maxInFlightPerOwner: 1'),
    handler: async (_request, response) => {
      await door.opened
      json(response, 200, {})
    },
  })
  const first = ask('/pay', pay(1))
  await upstream.arrived(1)
  gateway.rewrite(rule('pay', 'maxInFlightPerOwner: 1\n    digest: [body]'))
  await gateway.reload('test')
  t.equal((await ask('/pay', pay(2))).status, 429)
  door.open()
  await first
  t.equal((await ask('/pay', pay(2))).status, 200)
})

t.test('a status page of a record made under other rules is its owner’s', async (t) => {
  const owned = (name: string) => rule(name).replace('owner: none', 'owner: header.authorization')
  const { gateway, ask } = await stage(t, { rules: owned('pay') })
  const fingerprint = fingerprintOf(await ask('/pay', pay(1)))
  const result = async (as: string) => (await ask(`/status/${fingerprint}/result`, { method: 'GET', as })).status
  t.same([await result('a'), await result('b')], [200, 404])
  gateway.rewrite(rule('pay'))
  await gateway.reload('test')
  t.same([await result('a'), await result('b')], [200, 404])
  gateway.rewrite(owned('payments'))
  await gateway.reload('test')
  t.same([await result('a'), await result('b')], [200, 404])
})

t.test('GET /config shows no secret', async (t) => {
  const { gateway } = await stage(t, {
    rules: rule('pay'),
    top: 'secret: the-deployment-secret\nadminToken: the-admin-token-16\njwt: { secret: the-secret-of-the-tokens-32-bytes }',
  })
  const answer = await send(`${gateway.adminUrl}/config`, { method: 'GET', headers: { authorization: 'Bearer the-admin-token-16' } })
  t.match(document(answer), { config: { secret: '***', adminToken: '***', jwt: { secret: '***' }, rules: [{ name: 'pay' }] } })
  t.notMatch(answer.text, /the-/)
})

t.test('rules that exclude each other from now on: requests keep the old names for a rollout, and execute once', async (t) => {
  const { gateway, ask, upstream } = await stage(t, { rules: rule('pay') })
  const first = await ask('/pay', pay(1))
  gateway.rewrite(rule('pay', 'exclusive: { by: [body.order] }\n    tombstone: 1d'))
  t.match(await gateway.reload('test'), { kind: 'applied' })
  t.equal(fingerprintOf(await ask('/pay', pay(1))), fingerprintOf(first))
  t.equal((await ask('/pay', pay(2))).status, 200)
  t.ok(replayed(await ask('/pay', pay(2))))
  gateway.rewrite(rule('pay'))
  await gateway.reload('test')
  t.ok(replayed(await ask('/pay', pay(2))))
  t.equal(upstream.count(), 2)
})

t.test('on a Redis Cluster a change that gives requests other names is refused, any other is taken', async (t) => {
  const { gateway } = await stage(t, { rules: rule('pay'), store: 'redis+cluster://127.0.0.1:1' })
  gateway.rewrite(rule('payments'))
  t.match(await gateway.reload('test'), { kind: 'refused', failure: { mistakes: [/Cluster.*one name/] } })
  gateway.rewrite(rule('pay', 'ttl: 1h'))
  t.match(await gateway.reload('test'), { kind: 'applied' })
})
