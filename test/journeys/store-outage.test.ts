// The store goes away, stands still, loses connections and answers: every request is answered in time, nothing runs twice.
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { type Answer, send } from '../helpers/client.ts'
import { testGateway } from '../helpers/gateway.ts'
import { gatewayProcess } from '../helpers/gateway-process.ts'
import { PostgresServer } from '../helpers/postgres-server.ts'
import { RedisServer } from '../helpers/redis-server.ts'
import { TcpProxy } from '../helpers/tcp-proxy.ts'
import { until, within } from '../helpers/until.ts'
import { json, latch, startUpstream, type TestUpstream } from '../helpers/upstream.ts'

const STORE_TIMEOUT_MS = 500
const LEASE_MS = 1000
const TOP = `storeTimeout: ${STORE_TIMEOUT_MS}ms`
const RULES = `
  - name: pass
    match: { path: /pass }
    fingerprint: { key: header.idempotency-key }
    onStoreError: pass
  - name: pay
    match: { path: /pay }
    fingerprint: { key: header.idempotency-key }
    lease: ${LEASE_MS}ms
`

function ask(gateway: { url: string }, key: string, path = '/pay'): Promise<Answer> {
  return send(`${gateway.url}${path}`, { headers: { authorization: 'Bearer a', 'idempotency-key': key }, body: { key } })
}

function executions(upstream: TestUpstream, key: string): number {
  return upstream.received.filter((one) => one.headers['idempotency-key'] === key).length
}

function unavailable(t: Test, answer: Answer, name = 'store-unavailable'): void {
  t.match(answer, { status: 503, headers: { 'oncegate-error': name, 'retry-after': /^[1-9]\d*$/ } })
}

async function timed<T>(work: Promise<T>): Promise<{ result: T; tookMs: number }> {
  const began = performance.now()
  return { result: await work, tookMs: performance.now() - began }
}

t.test('a store that is down at the start: not ready, nothing executed, and ready by itself once it is up', async (t) => {
  const redis = await RedisServer.prepare()
  t.teardown(() => redis.stop())
  const upstream = await startUpstream()
  t.teardown(upstream.close)
  const options = { upstream: upstream.url, store: redis.url, rules: RULES, top: TOP }
  const gateways = await Promise.all([gatewayProcess(options), gatewayProcess(options)])
  t.teardown(() => Promise.all(gateways.map((gateway) => gateway.kill())))
  const ready = async () => Promise.all(gateways.map(async ({ adminUrl }) => (await send(`${adminUrl}/readyz`, { method: 'GET' })).status))
  t.same(await ready(), [503, 503])
  for (const gateway of gateways) unavailable(t, await ask(gateway, 'k'))
  t.match(await ask(gateways[0], 'k', '/pass'), { status: 200, headers: { 'idempotency-unguarded': 'true' } })
  t.equal(upstream.count('/pay'), 0)
  await redis.restart()
  await until('both are ready', async () => (await ready()).every((status) => status === 200))
  for (const gateway of gateways) t.equal((await ask(gateway, 'k')).status, 200)
  t.equal(upstream.count('/pay'), 1)
})

const SERVERS = {
  redis: async () => {
    const server = await RedisServer.start()
    return { server, url: server.url }
  },
  postgres: async () => {
    const server = await PostgresServer.start()
    return { server, url: server.url() }
  },
}

for (const [kind, start] of Object.entries(SERVERS))
  t.test(`a store that stands still: ${kind}`, async (t) => {
    const { server, url } = await start()
    t.teardown(() => server.stop())
    const upstream = await startUpstream()
    t.teardown(upstream.close)
    const gateway = await gatewayProcess({ upstream: upstream.url, store: url, rules: RULES, top: TOP })
    t.teardown(() => gateway.kill())
    t.equal((await ask(gateway, 'before')).status, 200)

    server.pause()
    const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => timed(ask(gateway, `still${i}`))))
    for (const status of new Set(answers.map(({ result }) => result.status))) t.equal(status, 503)
    unavailable(t, answers[0]!.result)
    const slowest = Math.max(...answers.map(({ tookMs }) => tookMs))
    // The margin is for a hundred clients at once on a busy machine.
    t.ok(slowest < 3 * STORE_TIMEOUT_MS, `the slowest took ${slowest} ms`)
    const passed = await ask(gateway, 'k', '/pass')
    t.match(passed, { status: 200, headers: { 'idempotency-unguarded': 'true' } })
    t.notOk(passed.headers['idempotency-fingerprint'], 'what is not guarded has no fingerprint')
    t.equal(upstream.count('/pay'), 1)
    // Far longer than the lease: what tries again has come to long pauses by now.
    await new Promise((resolve) => setTimeout(resolve, 3 * LEASE_MS))
    server.resume()

    // The server now does what it was asked to before it stood still: claims that nobody is waiting for.
    const after = new Map<number, number>()
    const results = Array.from({ length: 100 }, async (_, i) => {
      await until(`still${i} is executed`, async () => {
        const { status } = await ask(gateway, `still${i}`)
        after.set(status, (after.get(status) ?? 0) + 1)
        return status === 200 || status === 409
      })
    })
    await Promise.all(results)
    t.notOk(after.has(409), `no claim of a refused request became an unknown outcome: ${JSON.stringify([...after])}`)
    t.equal(upstream.count('/pay'), 101)
  })

t.test('a connection that fails', async (t) => {
  const redis = await RedisServer.start()
  t.teardown(() => redis.stop())
  const proxy = await TcpProxy.start(redis.port)
  t.teardown(() => proxy.stop())
  const upstream = await startUpstream()
  t.teardown(upstream.close)
  const gateway = await testGateway({ upstream: upstream.url, store: `redis://127.0.0.1:${proxy.port}`, rules: RULES, top: TOP })
  t.teardown(() => gateway.close())
  const direct = new Redis(redis.url)
  t.teardown(() => direct.disconnect())
  const readyAgain = () =>
    until('the store is back', async () => (await send(`${gateway.adminUrl}/readyz`, { method: 'GET' })).status === 200)
  t.afterEach(async () => {
    proxy.fault = 'none'
    await readyAgain()
  })

  await t.test('cut at the acquire, again and again: answered in time, no key without an end, executed once', async (t) => {
    let slowest = 0
    for (let i = 0; i < 100; i++) {
      const cut = proxy.nextRequest().then(() => proxy.cut())
      const { result, tookMs } = await timed(ask(gateway, `cut${i}`))
      await cut
      slowest = Math.max(slowest, tookMs)
      if (result.status !== 200) unavailable(t, result)
    }
    t.ok(slowest <= 2 * STORE_TIMEOUT_MS, `the slowest took ${slowest} ms`)
    await readyAgain()
    for (const key of await direct.keys('*')) {
      if ((await direct.pttl(key)) < 0) t.equal(key, 'oncegate:secret', 'every record and every lease has an end')
    }
    const again = await Promise.all(Array.from({ length: 100 }, (_, i) => ask(gateway, `cut${i}`)))
    t.same([...new Set(again.map((answer) => answer.status))], [200])
    t.equal(upstream.count('/pay'), 100)
  })

  await t.test('the answer to an acquire is lost with the connection: it meets its own claim', async (t) => {
    proxy.fault = 'dropReplies'
    const dropped = proxy.dropped
    const answer = ask(gateway, 'echo')
    await until('the answer is lost', () => proxy.dropped > dropped)
    proxy.fault = 'none'
    proxy.cut()
    t.match(await answer, { status: 200, headers: { 'idempotency-replayed': undefined } })
    t.match(await ask(gateway, 'echo'), { status: 200, headers: { 'idempotency-replayed': 'true' } })
    t.equal(executions(upstream, 'echo'), 1)
  })

  await t.test('the answer to an acquire is lost and stays lost: refused, and the claim is taken back', async (t) => {
    proxy.fault = 'dropReplies'
    unavailable(t, await ask(gateway, 'ghost'))
    t.equal(executions(upstream, 'ghost'), 0)
    proxy.fault = 'none'
    let answer!: Answer
    await until('it executes', async () => ![425, 503].includes((answer = await ask(gateway, 'ghost')).status))
    t.equal(answer.status, 200, 'nothing was sent, so nothing is unknown')
    t.equal(executions(upstream, 'ghost'), 1)
  })

  for (const { name, key, outageMs } of [
    { name: 'comes back within the lease: stored, and answered whole', key: 'soon', outageMs: LEASE_MS / 2 },
    { name: 'stays away longer: 503, and stored once it is back', key: 'late', outageMs: LEASE_MS * 1.5 },
  ]) {
    await t.test(`the store goes while an execution runs and ${name}`, async (t) => {
      const door = latch()
      upstream.handle(async (_request, response) => {
        await door.opened
        json(response, 200, { key })
      })
      const first = ask(gateway, key)
      await until('the execution', () => executions(upstream, key) === 1)
      proxy.fault = 'hold'
      proxy.cut()
      door.open()
      await new Promise((resolve) => setTimeout(resolve, outageMs))
      proxy.fault = 'none'
      // Whoever connected meanwhile has sent into nothing.
      proxy.cut()
      const answer = await within('an answer', first)
      if (key === 'soon') t.match(answer, { status: 200, text: '{"key":"soon"}' })
      else unavailable(t, answer, 'result-pending')
      await until('the result', async () => (await ask(gateway, key)).headers['idempotency-replayed'] === 'true')
      t.match(await ask(gateway, key), { status: 200, text: `{"key":"${key}"}` })
      t.equal(executions(upstream, key), 1)
    })
  }

  await t.test('scripts that the server forgets all the time', async (t) => {
    upstream.handle((_request, response) => json(response, 200, {}))
    const before = upstream.count()
    let flushing = true
    let flushes = 0
    const flusher = (async () => {
      while (flushing) {
        await direct.script('FLUSH')
        flushes++
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    })()
    const statuses = new Set<number>()
    const lane = async (lane: number) => {
      for (let i = 0; i < 50; i++) statuses.add((await ask(gateway, `flush${lane}-${i}`)).status)
    }
    await Promise.all([0, 1, 2, 3, 4, 5].map(lane))
    const replay = await ask(gateway, 'flush0-0')
    flushing = false
    await flusher
    t.same([...statuses], [200])
    t.equal(upstream.count() - before, 300)
    t.match(replay, { status: 200, headers: { 'idempotency-replayed': 'true' } })
    t.ok(flushes > 10, `${flushes} flushes`)
  })
})
