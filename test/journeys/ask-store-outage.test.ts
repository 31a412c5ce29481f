// The store goes away between a request that met an earlier execution and its answer: nothing passes beside that execution, whatever the rule.
import t from 'tap'
import { send } from '../helpers/client.ts'
import { testGateway } from '../helpers/gateway.ts'
import { RedisServer } from '../helpers/redis-server.ts'
import { TcpProxy } from '../helpers/tcp-proxy.ts'
import { until } from '../helpers/until.ts'
import { json, latch, startUpstream } from '../helpers/upstream.ts'

const RULES = `
  - name: run
    match: { path: /run }
    fingerprint: { key: header.idempotency-key }
    onStoreError: pass
    inFlight: { answer: wait, maxWait: 10s }
    onUnknown: { ask: { path: '/ask', executed: [200], backoff: 50ms } }
`

t.test('a store that goes away', async (t) => {
  const redis = await RedisServer.start()
  t.teardown(() => redis.stop())
  const proxy = await TcpProxy.start(redis.port)
  t.teardown(() => proxy.stop())
  const upstream = await startUpstream()
  t.teardown(upstream.close)
  const gateway = await testGateway({
    upstream: upstream.url,
    store: `redis://127.0.0.1:${proxy.port}`,
    rules: RULES,
    top: 'storeTimeout: 2s',
  })
  t.teardown(() => gateway.close())
  const ask = (key: string) => send(`${gateway.url}/run`, { headers: { authorization: 'Bearer a', 'idempotency-key': key } })
  const away = (): void => {
    proxy.fault = 'hold'
    proxy.cut()
  }
  const back = async (): Promise<void> => {
    proxy.fault = 'none'
    proxy.cut()
    await until('the store is back', async () => (await send(`${gateway.adminUrl}/readyz`, { method: 'GET' })).status === 200)
  }

  await t.test('while the upstream is asked: what it says is not lost, and asked for again', async (t) => {
    upstream.handle((request, response) => {
      if (request.method === 'POST') return void response.destroy()
      if (upstream.count('/ask') === 1) away()
      json(response, 200, { said: true })
    })
    t.equal((await ask('asked')).status, 502)
    t.match(await ask('asked'), { status: 409, headers: { 'oncegate-error': 'outcome-unknown', 'retry-after': '1' } })
    await back()
    await until('the answer', async () => (await ask('asked')).headers['idempotency-replayed'] === 'true')
    t.equal(upstream.count('/run'), 1)
  })

  await t.test('while a duplicate waits: it is refused, not passed', async (t) => {
    const before = upstream.count('/run')
    const door = latch()
    upstream.handle(async (request, response) => {
      if (request.headers['idempotency-key'] === 'held') await door.opened
      json(response, 200, {})
    })
    const first = ask('held')
    await until('the execution', () => upstream.count('/run') === before + 1)
    const second = ask('held')
    const fingerprint = String(upstream.received.at(-1)?.headers['idempotency-fingerprint'])
    await until('the duplicate is held', async () => {
      const page = await send(`${gateway.url}/status/${fingerprint}`, { method: 'GET' })
      return (page.json() as { duplicates: number }).duplicates === 1
    })
    away()
    t.match(await second, { status: 503, headers: { 'oncegate-error': 'store-unavailable', 'idempotency-unguarded': undefined } })
    t.match(await ask('another'), { status: 200, headers: { 'idempotency-unguarded': 'true' } })
    await back()
    door.open()
    await first
    t.equal(upstream.received.filter(({ headers }) => headers['idempotency-key'] === 'held').length, 1)
  })
})
