// What a gateway has done can be read from its measures: exactly, from the start, and without a word of what requests said.
import t from 'tap'
import { gatewayProcess } from '../helpers/gateway-process.ts'
import { send } from '../helpers/client.ts'
import { RedisServer } from '../helpers/redis-server.ts'
import { scrape } from '../helpers/scrape.ts'
import { SHARED_STORES } from '../helpers/shared-store.ts'
import { fingerprintOf, replayed, stage } from '../helpers/stage.ts'
import { until, within } from '../helpers/until.ts'
import { json, latch, startUpstream } from '../helpers/upstream.ts'
import { testGateway } from '../helpers/gateway.ts'

const PAY = `
  - name: pay
    match: { path: '/accounts/:id/payments' }
    fingerprint: { key: header.idempotency-key }
`
const SELECT = `
  - name: order
    match: { path: /orders }
    owner: none
    fingerprint:
      cart: body.cart
      device:
        from: [header.x-device, { select: cookie.device, trust: 0.8 }, { select: ip, trust: 0.2 }]
        minTrust: 0.5
        default: unknown
    onMissing: pass
`

t.test('every series stands at zero before the first request', async (t) => {
  const { gateway } = await stage(t, { rules: PAY + SELECT })
  const measures = await scrape(gateway)
  t.match(measures.contentType, /^text\/plain; version=0\.0\.4/)
  for (const rule of ['pay', 'order']) {
    for (const outcome of [
      'executed',
      'broken',
      'replayed',
      'attached',
      'client-gone',
      'unguarded',
      'in-flight',
      'key-reused',
      'outcome-unknown',
    ])
      t.equal(measures.value('oncegate_requests_total', { rule, outcome }), 0, `${rule}, ${outcome}`)
    for (const result of ['completed', 'failed', 'unknown']) t.equal(measures.value('oncegate_executions_total', { rule, result }), 0)
    for (const result of ['guarded', 'refused', 'no-owner', 'part-missing'])
      t.equal(measures.value('oncegate_fingerprints_total', { rule, result }), 0)
    t.equal(measures.value('oncegate_repeated_executions_total', { rule, cause: 'unknown' }), 0)
    t.equal(measures.value('oncegate_in_flight', { rule }), 0)
    t.equal(measures.value('oncegate_overhead_seconds_count', { rule }), 0)
    t.equal(measures.value('oncegate_upstream_seconds_bucket', { rule, le: '+Inf' }), 0)
  }
  t.equal(measures.value('oncegate_requests_total', { rule: '', outcome: 'passed' }), 0)
  t.equal(measures.value('oncegate_transitions_total'), 0)
  t.equal(measures.value('oncegate_stale_settles_total') + measures.value('oncegate_leases_lost_total'), 0)
  t.equal(measures.value('oncegate_store_seconds_count', { verb: 'acquire' }), 0)
  t.ok(measures.value('process_resident_memory_bytes') > 1e6, 'and those of the process')
})

t.test('executed, replayed, refused, passed: each is counted once', async (t) => {
  const { gateway, ask, upstream } = await stage(t, { rules: PAY })
  const path = '/accounts/1/payments'
  await ask(path, { key: 'k1', body: { amount: 1 } })
  for (const _ of [1, 2]) t.ok(replayed(await ask(path, { key: 'k1', body: { amount: 1 } })))
  t.equal((await ask(path, { key: 'k1', body: { amount: 2 } })).status, 422)
  t.equal((await ask(path, { body: { amount: 2 } })).status, 400)
  t.equal((await ask('/elsewhere', { body: {} })).status, 200)
  const status = await ask(`/status/${fingerprintOf(await ask(path, { key: 'k2', body: {} }))}`, { method: 'GET' })
  t.equal(status.status, 200)
  upstream.handle((_request, response) => json(response, 503, {}))
  await ask(path, { key: 'k3', body: {} })

  const { value } = await scrape(gateway)
  const requests = (outcome: string, rule = 'pay') => value('oncegate_requests_total', { rule, outcome })
  t.same(
    ['executed', 'replayed', 'key-reused', 'key-missing'].map((outcome) => requests(outcome)),
    [3, 2, 1, 1],
  )
  t.same([requests('passed', ''), requests('status', '')], [1, 1])
  t.equal(value('oncegate_requests_total'), 9, 'and nothing else')
  const executions = (result: string) => value('oncegate_executions_total', { rule: 'pay', result })
  t.same(['completed', 'failed', 'unknown'].map(executions), [2, 1, 0])
  const fingerprints = (result: string) => value('oncegate_fingerprints_total', { rule: 'pay', result })
  t.same(['guarded', 'refused'].map(fingerprints), [6, 1])
  const step = (from: string, to: string) => value('oncegate_transitions_total', { from, to, legal: 'true' })
  t.same([step('none', 'processing'), step('processing', 'completed'), step('processing', 'failed')], [3, 2, 1])
  t.equal(value('oncegate_transitions_total'), 6)
  t.same([value('oncegate_store_seconds_count', { verb: 'acquire' }), value('oncegate_store_seconds_count', { verb: 'settle' })], [6, 3])
  t.equal(value('oncegate_overhead_seconds_count', { rule: 'pay' }), 6, 'of whatever the store was asked for')
  t.equal(value('oncegate_upstream_seconds_count', { rule: 'pay' }), 3)
})

t.test('in flight while it runs; the time of the upstream is not the gateway’s own', async (t) => {
  const door = latch()
  const { gateway, ask, upstream } = await stage(t, {
    rules: PAY,
    handler: async (_request, response) => {
      await door.opened
      json(response, 200, {})
    },
  })
  const asked = { key: 'k', body: {} }
  const first = ask('/accounts/1/payments', asked)
  await within('the execution', upstream.arrived(1))
  const sent = performance.now()
  t.equal((await ask('/accounts/1/payments', asked)).status, 425)
  const during = await scrape(gateway)
  t.equal(during.value('oncegate_in_flight', { rule: 'pay' }), 1)
  t.equal(during.value('oncegate_requests_total', { rule: 'pay', outcome: 'in-flight' }), 1)
  await until('a quarter of a second is over', () => performance.now() - sent > 250)
  door.open()
  t.equal((await first).status, 200)
  const { value } = await scrape(gateway)
  t.equal(value('oncegate_in_flight', { rule: 'pay' }), 0)
  t.ok(value('oncegate_upstream_seconds_sum', { rule: 'pay' }) > 0.24)
  t.ok(value('oncegate_overhead_seconds_sum', { rule: 'pay' }) < 0.24)
})

t.test('a lost answer, and what becomes of it: unknown, then repeated where the rule says so', async (t) => {
  const { gateway, ask } = await stage(t, {
    rules: `
  - { name: careful, match: { path: /careful }, fingerprint: { key: header.idempotency-key } }
  - { name: bold, match: { path: /bold }, fingerprint: { key: header.idempotency-key }, onUnknown: retry }
`,
    handler: (request, response) => {
      if (request.headers['idempotency-attempt'] === '1') response.destroy()
      else json(response, 200, {})
    },
  })
  for (const path of ['/careful', '/bold']) t.equal((await ask(path, { key: 'k', body: {} })).status, 502)
  t.equal((await ask('/careful', { key: 'k', body: {} })).status, 409)
  t.equal((await ask('/bold', { key: 'k', body: {} })).status, 200)
  const { value } = await scrape(gateway)
  t.equal(value('oncegate_executions_total', { rule: 'careful', result: 'unknown' }), 1)
  t.equal(value('oncegate_requests_total', { rule: 'careful', outcome: 'outcome-unknown' }), 1)
  t.equal(value('oncegate_requests_total', { rule: 'careful', outcome: 'upstream-broken' }), 1)
  t.equal(value('oncegate_repeated_executions_total', { rule: 'careful' }), 0)
  t.equal(value('oncegate_repeated_executions_total', { rule: 'bold', cause: 'unknown' }), 1)
  t.equal(value('oncegate_transitions_total', { from: 'unknown', to: 'processing', legal: 'true' }), 1)
})

t.test('which source a part was read from', async (t) => {
  const { gateway, ask } = await stage(t, { rules: PAY + SELECT })
  const order = (cart: number, headers: Record<string, string> = {}) => ask('/orders', { body: { cart }, headers })
  await order(1, { 'x-device': 'phone-7' })
  await order(2, { 'x-device': 'phone-7', cookie: 'device=phone-7' })
  await order(3, { cookie: 'device=phone-7' })
  await order(4)
  t.notOk((await ask('/orders', { body: {} })).headers['idempotency-fingerprint'], 'not guarded')
  const { value, text } = await scrape(gateway)
  const chosen = (source: string) => value('oncegate_fingerprint_sources_total', { rule: 'order', part: 'device', source })
  t.same(['header.x-device', 'cookie.device', 'default'].map(chosen), [2, 1, 1])
  t.equal(value('oncegate_fingerprint_sources_total'), 4, 'no other part has a choice')
  t.notMatch(text, /source="ip"/, 'what is trusted too little is never chosen')
  t.equal(value('oncegate_fingerprints_total', { rule: 'order', result: 'part-missing' }), 1)
  t.equal(value('oncegate_requests_total', { rule: 'order', outcome: 'passed' }), 1)
})

t.test('no request adds a series, and nothing of what it says is in any', async (t) => {
  const { gateway, ask } = await stage(t, { rules: PAY + SELECT })
  const before = await scrape(gateway)
  const seen: string[] = []
  for (let n = 0; n < 100; n++) {
    const answer = await ask(`/accounts/acct-${n}/payments`, { key: `key-${n}`, as: `user-${n}`, body: { amount: n } })
    seen.push(`acct-${n}`, `key-${n}`, `user-${n}`, fingerprintOf(answer))
    await ask(`/scan-${n}?q=secret-${n}`, { method: n % 2 === 0 ? 'GET' : 'PROPFIND', headers: { host: `host-${n}` } })
    seen.push(`scan-${n}`, `secret-${n}`, `host-${n}`)
  }
  await ask('/orders', { body: { cart: 'cart-1' }, headers: { 'x-device': 'device-1' } })
  seen.push('cart-1', 'device-1', 'PROPFIND')
  const after = await scrape(gateway)
  const own = ({ series }: typeof after) => [...series.keys()].filter((name) => name.startsWith('oncegate_'))
  t.same(own(after), own(before))
  t.same(
    seen.filter((word) => after.text.includes(word)),
    [],
  )
})

t.test('an execution that lost its record: its lease, its refused result, and the repeated one', async (t) => {
  const shared = await SHARED_STORES.lmdb!()
  t.teardown(shared.remove)
  const door = latch()
  const upstream = await startUpstream(async (request, response) => {
    if (request.headers['idempotency-attempt'] === '1') await door.opened
    json(response, 200, {})
  })
  t.teardown(upstream.close)
  const rules = `
  - name: pay
    match: { path: /pay }
    fingerprint: { key: header.idempotency-key }
    lease: 600ms
    onUnknown: retry
`
  const options = { upstream: upstream.url, store: shared.url, rules }
  const [stopped, other] = await Promise.all([gatewayProcess(options), gatewayProcess(options)])
  t.teardown(() => Promise.all([stopped.kill(), other.kill()]))
  const pay = (gateway: { url: string }) =>
    send(`${gateway.url}/pay`, { headers: { authorization: 'Bearer a', 'idempotency-key': 'k' }, body: {} })
  const first = pay(stopped)
  await within('the execution', upstream.arrived(1))
  stopped.pause()
  await until('the other executes', async () => (await pay(other)).status === 200)
  stopped.resume()
  await until('the loss is counted', async () => (await scrape(stopped)).value('oncegate_leases_lost_total') === 1)
  door.open()
  t.equal((await first).status, 425)
  const lost = await scrape(stopped)
  t.equal(lost.value('oncegate_stale_settles_total'), 1)
  t.equal(lost.value('oncegate_transitions_total', { legal: 'false' }), 1)
  t.equal(lost.value('oncegate_transitions_total', { from: 'lost', to: 'completed', legal: 'false' }), 1)
  t.equal(lost.value('oncegate_repeated_executions_total'), 0)
  const { value } = await scrape(other)
  t.equal(value('oncegate_repeated_executions_total', { rule: 'pay', cause: 'unknown' }), 1)
  t.equal(value('oncegate_stale_settles_total') + value('oncegate_leases_lost_total'), 0)
})

t.test('a store out of reach: its errors, and whom it let pass', async (t) => {
  const redis = await RedisServer.start()
  t.teardown(() => redis.stop())
  const upstream = await startUpstream()
  t.teardown(upstream.close)
  const rules = `
  - { name: pay, match: { path: /pay }, fingerprint: { key: header.idempotency-key } }
  - { name: pass, match: { path: /pass }, fingerprint: { key: header.idempotency-key }, onStoreError: pass }
`
  const gateway = await testGateway({ upstream: upstream.url, store: redis.url, rules, top: 'storeTimeout: 300ms' })
  t.teardown(() => gateway.close())
  const ask = (path: string) => send(gateway.url + path, { headers: { authorization: 'Bearer a', 'idempotency-key': 'k' }, body: {} })
  t.equal((await ask('/pay')).status, 200)
  await redis.stop()
  t.equal((await ask('/pay')).status, 503)
  t.equal((await ask('/pass')).status, 200)
  const { value } = await scrape(gateway)
  t.equal(value('oncegate_requests_total', { rule: 'pay', outcome: 'store-unavailable' }), 1)
  t.equal(value('oncegate_requests_total', { rule: 'pass', outcome: 'unguarded' }), 1)
  t.ok(value('oncegate_store_errors_total', { verb: 'acquire' }) >= 2)
  t.equal(upstream.count(), 2)
})

t.test('an execution that is not settled when its timeout is over is overdue', async (t) => {
  const redis = await RedisServer.start()
  t.teardown(() => redis.stop())
  const upstream = await startUpstream(() => {})
  t.teardown(upstream.close)
  const rules = `
  - { name: pay, match: { path: /pay }, fingerprint: { key: header.idempotency-key }, timeout: 1500ms }
`
  const gateway = await testGateway({ upstream: upstream.url, store: redis.url, rules, top: 'storeTimeout: 200ms' })
  t.teardown(() => gateway.close())
  const asked = send(`${gateway.url}/pay`, { headers: { authorization: 'Bearer a', 'idempotency-key': 'k' }, body: {} })
  await within('the execution', upstream.arrived(1))
  redis.pause()
  const count = async (name: string) => (await scrape(gateway)).value(name, { rule: 'pay' })
  t.same([await count('oncegate_in_flight'), await count('oncegate_overdue_executions')], [1, 0])
  await until('it is overdue', async () => (await count('oncegate_overdue_executions')) === 1)
  redis.resume()
  t.equal((await asked).status, 504)
  t.same([await count('oncegate_in_flight'), await count('oncegate_overdue_executions')], [0, 0])
})

t.test(
  'what the upstream or an operator says of an unknown outcome is a step of its record, and its next execution no repetition',
  async (t) => {
    let broken = true
    const { gateway, ask } = await stage(t, {
      rules: `
  - name: asked
    match: { path: /asked/:id }
    fingerprint: { key: header.idempotency-key }
    onUnknown: { ask: { path: '/runs/{path.id}', executed: [200], notExecuted: [404] } }
  - { name: careful, match: { path: /careful }, fingerprint: { key: header.idempotency-key } }
`,
      handler: (request, response) => {
        if (request.method === 'GET') json(response, request.url === '/runs/done' ? 200 : 404, {})
        else if (broken) response.destroy()
        else json(response, 200, {})
      },
    })
    const paths = ['/asked/done', '/asked/undone', '/careful']
    for (const path of paths) t.equal((await ask(path, { key: 'k', body: {} })).status, 502)
    broken = false
    const refused = await ask('/careful', { key: 'k', body: {} })
    t.equal((await send(`${gateway.adminUrl}/records/${fingerprintOf(refused)}/release`)).status, 200)
    for (const path of paths) t.equal((await ask(path, { key: 'k', body: {} })).status, 200)
    const { value } = await scrape(gateway)
    const learned = (to: string) => value('oncegate_transitions_total', { from: 'unknown', to, legal: 'true' })
    t.same([learned('completed'), learned('failed'), learned('processing')], [1, 2, 0])
    t.equal(value('oncegate_transitions_total', { from: 'failed', to: 'processing', legal: 'true' }), 2)
    t.equal(value('oncegate_repeated_executions_total'), 0)
    t.equal(value('oncegate_executions_total', { result: 'completed' }), 2)
  },
)
