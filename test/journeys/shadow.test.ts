// A rule in shadow changes nothing for anybody, and tells what it would have done.
import { randomBytes } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { RedisServer } from '../helpers/redis-server.ts'
import { scrape } from '../helpers/scrape.ts'
import { type Stage, stage } from '../helpers/stage.ts'
import { until, within } from '../helpers/until.ts'
import { json, latch } from '../helpers/upstream.ts'

const rule = (more = '', mode = 'shadow') => `
  - name: pay
    match: { path: /pay }
    owner: none
    fingerprint: { order: body.order }
    digest: [body.amount]
    maxBody: 64KiB
    mode: ${mode}
    ${more}
`

/** How often it would have done that, once it has been counted. */
async function counted({ gateway }: Stage, outcomes: Record<string, number>): Promise<void> {
  await until(`shadows: ${JSON.stringify(outcomes)}`, async () => {
    const { value } = await scrape(gateway)
    return Object.entries(outcomes).every(([outcome, times]) => value('oncegate_shadow_requests_total', { rule: 'pay', outcome }) === times)
  })
}

t.test('duplicates are recognised, and everything goes to the upstream as it came', async (t) => {
  const scene = await stage(t, { rules: rule() })
  const { ask, upstream, gateway } = scene
  await counted(scene, { executed: 0, replayed: 0 })
  const answers = [await ask('/pay', { body: { order: 1, amount: 5 }, key: 'k' })]
  await counted(scene, { executed: 1 })
  await until('it is settled', async () => {
    answers.push(await ask('/pay', { body: { order: 1, amount: 5 }, key: 'k' }))
    return (await scrape(gateway)).series.get('oncegate_shadow_requests_total{rule="pay",outcome="replayed"}') === 1
  })
  answers.push(await ask('/pay', { body: { order: 1, amount: 6 } }))
  await counted(scene, { 'key-reused': 1 })
  answers.push(await ask('/pay', { body: {} }))
  await counted(scene, { 'field-missing': 1 })
  t.equal(upstream.count(), answers.length, 'each was sent')
  t.same(
    answers.map(({ text }) => text),
    answers.map((_, n) => `{"execution":${n + 1}}`),
  )
  for (const { headers } of answers)
    t.same(
      Object.keys(headers).filter((name) => /idempotency|oncegate/.test(name)),
      [],
    )
  t.equal(upstream.received[0]!.headers['idempotency-key'], 'k')
  for (const { headers } of upstream.received)
    t.same(
      Object.keys(headers).filter((name) => /idempotency-(?!key)/.test(name)),
      [],
    )
  t.ok(gateway.log.some(({ msg, shadow, rule: name }) => msg === 'shadow' && shadow === 'key-reused' && name === 'pay'))
  t.equal((await scrape(gateway)).value('oncegate_executions_total', { rule: 'pay' }), 0)
})

t.test('what would have been refused while the first runs is sent, too', async (t) => {
  const door = latch()
  const scene = await stage(t, {
    rules: rule(),
    handler: async (_request, response) => {
      await door.opened
      json(response, 200, {})
    },
  })
  const both = [scene.ask('/pay', { body: { order: 1 } })]
  await counted(scene, { executed: 1 })
  both.push(scene.ask('/pay', { body: { order: 1 } }))
  await counted(scene, { 'in-flight': 1 })
  await scene.upstream.arrived(2)
  door.open()
  t.same(
    (await Promise.all(both)).map(({ status }) => status),
    [200, 200],
  )
})

t.test('switched on, it meets none of the records of its shadow', async (t) => {
  const { ask, gateway, upstream } = await stage(t, { rules: rule() })
  await ask('/pay', { body: { order: 1 } })
  gateway.rewrite(rule('', 'enforce'))
  t.match(await gateway.reload('test'), { kind: 'applied' })
  await ask('/pay', { body: { order: 1 } })
  t.equal((await ask('/pay', { body: { order: 1 } })).headers['idempotency-replayed'], 'true')
  t.equal(upstream.count(), 2)
})

t.test('a body of any size passes whole, in whatever pieces; the rule would have read it up to its limit', async (t) => {
  const scene = await stage(t, { rules: rule() })
  const large = randomBytes(3_000_000)
  t.equal((await scene.ask('/pay', { body: large })).status, 200)
  await counted(scene, { 'body-too-large': 1 })
  t.ok(scene.upstream.received[0]!.body.equals(large))
  t.same(await chunked(t, scene, ['{"order"', ':1,"amount":', '5}']), { execution: 2 })
  await counted(scene, { executed: 1 })
  t.equal(scene.upstream.received[1]!.body.toString(), '{"order":1,"amount":5}')
})

async function chunked(t: Test, { gateway }: Stage, pieces: readonly string[]): Promise<unknown> {
  const request = httpRequest(`${gateway.url}/pay`, { method: 'POST', headers: { 'content-type': 'application/json' } })
  t.teardown(() => request.destroy())
  const answered = once(request, 'response')
  for (const piece of pieces) await new Promise((resolve) => request.write(piece, resolve))
  request.end()
  const [response] = (await within('the answer', answered)) as [AsyncIterable<Buffer>]
  let text = ''
  for await (const chunk of response) text += chunk.toString()
  return JSON.parse(text)
}

t.test('an upstream that fails, breaks off or is away is told as it is, and the next would be sent again or not', async (t) => {
  const scene = await stage(t, { rules: rule(), handler: (_request, response) => json(response, 503, {}) })
  t.equal((await scene.ask('/pay', { body: { order: 1 } })).status, 503)
  await counted(scene, { executed: 1 })
  await until('again', async () => {
    await scene.ask('/pay', { body: { order: 1 } })
    return (await scrape(scene.gateway)).value('oncegate_shadow_requests_total', { outcome: 'executed' }) >= 2
  })
  scene.upstream.handle((_request, response) => void response.destroy())
  t.equal((await scene.ask('/pay', { body: { order: 2 } })).status, 502)
  await until('unknown', async () => {
    await scene.ask('/pay', { body: { order: 2 } })
    return (await scrape(scene.gateway)).value('oncegate_shadow_requests_total', { outcome: 'outcome-unknown' }) >= 1
  })
})

t.test('a store that is away delays nothing', async (t) => {
  const server = await RedisServer.start()
  t.teardown(() => server.stop())
  const scene = await stage(t, { rules: rule(), store: server.url })
  server.pause()
  const answer = await within('the answer', scene.ask('/pay', { body: { order: 1 } }), 900)
  t.equal(answer.status, 200)
  await counted(scene, { 'store-unavailable': 1 })
  server.resume()
})
