// A rule whose outcomes turn unknown executes nothing for a while; what needs no execution is answered as ever.
import t from 'tap'
import { RedisServer } from '../helpers/redis-server.ts'
import { replayed, stage } from '../helpers/stage.ts'
import { TcpProxy } from '../helpers/tcp-proxy.ts'
import { until } from '../helpers/until.ts'
import { json, latch, type Received } from '../helpers/upstream.ts'
import type http from 'node:http'

const rules = (breaker: string, more = ''): string => `
  - name: pay
    match: { path: /pay }
    fingerprint: { key: header.idempotency-key }
    breaker: ${breaker}
${more}
  - name: other
    match: { path: /other }
    fingerprint: { key: header.idempotency-key }
`

function upstreamThat(breaks: { sick: boolean }) {
  return (request: Received, response: http.ServerResponse): void => {
    if (breaks.sick) response.destroy()
    else json(response, 200, { key: request.headers['idempotency-key'] })
  }
}

t.test('open: 503 with the time that is left; results, other rules and what is unknown are answered still', async (t) => {
  const upstreamIs = { sick: false }
  const { ask, upstream } = await stage(t, { rules: rules('{ unknown: 3, within: 1m, open: 20s }'), handler: upstreamThat(upstreamIs) })
  t.equal((await ask('/pay', { key: 'done' })).status, 200)
  upstreamIs.sick = true
  for (const key of ['u1', 'u2', 'u3']) t.equal((await ask('/pay', { key })).status, 502)
  upstreamIs.sick = false
  const before = upstream.count()
  for (const key of ['new', 'new', 'newer']) {
    const refused = await ask('/pay', { key })
    t.match(refused, { status: 503, headers: { 'oncegate-error': 'breaker-open', 'x-should-retry': 'true' } })
    const after = Number(refused.headers['retry-after'])
    t.ok(after > 15 && after <= 20, `after ${after} s`)
    t.match(refused.json(), { retry: 'same-key' })
  }
  const again = await ask('/pay', { key: 'done' })
  t.match(again, { status: 200, text: '{"key":"done"}' })
  t.ok(replayed(again))
  t.match(await ask('/pay', { key: 'u1' }), { status: 409, headers: { 'oncegate-error': 'outcome-unknown' } })
  t.match(await ask('/pay', { key: 'done', body: { other: 1 } }), { status: 422 })
  t.equal(upstream.count(), before, 'nothing of the rule was executed')
  t.equal((await ask('/other', { key: 'new' })).status, 200)
})

t.test('after its time one execution is tried; when it ends well all are let through again', async (t) => {
  const upstreamIs = { sick: true }
  const door = latch()
  const { ask, upstream, gateway } = await stage(t, {
    rules: rules('{ unknown: 2, within: 1m, open: 300ms }'),
    handler: async (request, response) => {
      if (request.headers['idempotency-key'] === 'trial') await door.opened
      upstreamThat(upstreamIs)(request, response)
    },
  })
  for (const key of ['u1', 'u2']) t.equal((await ask('/pay', { key })).status, 502)
  t.equal((await ask('/pay', { key: 'k' })).status, 503)
  const before = upstream.count()

  // A trial that breaks off as well opens it again.
  await until('the next trial', async () => (await ask('/pay', { key: `t${upstream.count()}` })).status === 502)
  t.equal(upstream.count(), before + 1)
  t.equal((await ask('/pay', { key: 'k' })).status, 503)

  upstreamIs.sick = false
  let trial!: ReturnType<typeof ask>
  await until('the trial', async () => {
    trial = ask('/pay', { key: 'trial' })
    await Promise.race([trial, upstream.arrived(before + 2)])
    return upstream.count() === before + 2
  })
  const meanwhile = await Promise.all(Array.from({ length: 10 }, (_, n) => ask('/pay', { key: `m${n}` })))
  t.same([...new Set(meanwhile.map(({ status }) => status))], [503], 'one at a time')
  t.equal((await ask('/pay', { key: 'trial' })).status, 425, 'which is in flight')
  door.open()
  t.equal((await trial).status, 200)
  const after = await Promise.all(Array.from({ length: 10 }, (_, n) => ask('/pay', { key: `m${n}` })))
  t.same([...new Set(after.map(({ status }) => status))], [200], 'what was refused can be executed')
  t.match(
    gateway.log.filter(({ msg }) => String(msg).startsWith('the breaker')).map(({ msg }) => msg),
    ['the breaker is open', 'the breaker is open', 'the breaker is closed'],
  )
})

t.test('what is refused leaves no claim behind that could become unknown, however many come at once', async (t) => {
  const upstreamIs = { sick: true }
  const redis = await RedisServer.start()
  t.teardown(() => redis.stop())
  const proxy = await TcpProxy.start(redis.port)
  t.teardown(() => proxy.stop())
  // Every acquire is on its way before the first is answered.
  proxy.delayMs = 50
  const { ask, upstream } = await stage(t, {
    rules: rules('{ unknown: 1, within: 1m, open: 100ms }', '    lease: 1s'),
    store: `redis://127.0.0.1:${proxy.port}`,
    handler: upstreamThat(upstreamIs),
  })
  t.equal((await ask('/pay', { key: 'u' })).status, 502)
  upstreamIs.sick = false
  await new Promise((resolve) => setTimeout(resolve, 120))
  // All find it half open: one is the trial.
  const all = await Promise.all(Array.from({ length: 50 }, (_, n) => ask('/pay', { key: `k${n}` })))
  t.ok(all.some(({ status }) => status === 200))
  for (const { status } of all) t.ok(status === 200 || status === 503, String(status))
  const executed = upstream.count()
  for (const [n, { status }] of all.entries()) {
    t.match(await ask('/pay', { key: `k${n}` }), { status: 200, headers: { 'idempotency-replayed': status === 200 ? 'true' : undefined } })
  }
  t.equal(upstream.count(), executed + all.filter(({ status }) => status === 503).length)
})

t.test('a first try that is refused leaves the result of the earlier wish as it is', async (t) => {
  const upstreamIs = { sick: false }
  const { ask } = await stage(t, {
    rules: `
  - name: pay
    match: { path: /pay }
    fingerprint: { order: body.order }
    retryEvidence: header.x-retry
    breaker: { unknown: 1, open: 20s }
`,
    handler: upstreamThat(upstreamIs),
  })
  const pay = (order: number, retry: string) => ask('/pay', { body: { order }, headers: { 'x-retry': retry } })
  t.equal((await pay(1, '0')).status, 200)
  upstreamIs.sick = true
  t.equal((await pay(2, '0')).status, 502)
  t.equal((await pay(1, '0')).status, 503)
  t.ok(replayed(await pay(1, '1')))
})
