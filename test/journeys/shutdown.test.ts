// SIGTERM: what runs may finish within the grace, nothing new begins, and what is left over is settled at once.
import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import t from 'tap'
import { type Answer, send, type SendOptions } from '../helpers/client.ts'
import { type GatewayProcess, gatewayProcess } from '../helpers/gateway-process.ts'
import { RedisServer } from '../helpers/redis-server.ts'
import { SHARED_STORES } from '../helpers/shared-store.ts'
import { until, within } from '../helpers/until.ts'
import { json, latch, startUpstream } from '../helpers/upstream.ts'

const RULES = `
  - name: pay
    match: { path: /pay }
    fingerprint: { key: header.idempotency-key }
  - name: again
    match: { path: /again }
    fingerprint: { key: header.idempotency-key }
    onUnknown: retry
    inFlight: { answer: wait }
`

function ask(gateway: GatewayProcess, path: string, key: string, options: SendOptions = {}): Promise<Answer> {
  return send(`${gateway.url}${path}`, { headers: { authorization: 'Bearer a', 'idempotency-key': key }, body: {}, ...options })
}

/** SIGTERM, and how the process ended. */
async function terminate(gateway: GatewayProcess): Promise<{ code: number | null; signal: string | null; tookMs: number }> {
  const began = performance.now()
  gateway.signal('SIGTERM')
  const end = await within('the end of the process', gateway.ended, 10_000)
  return { ...end, tookMs: performance.now() - began }
}

for (const [store, open] of Object.entries(SHARED_STORES)) {
  t.test(`executions that finish within the grace: ${store}`, async (t) => {
    const shared = await open()
    t.teardown(shared.remove)
    const door = latch()
    const upstream = await startUpstream(async (request, response) => {
      if (request.headers['idempotency-key'] === 'stream') {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('data: 1\n\n')
        await door.opened
        response.end('data: 2\n\n')
      } else {
        await door.opened
        json(response, 200, { done: true })
      }
    })
    t.teardown(upstream.close)
    const start = async (): Promise<GatewayProcess> => {
      const gateway = await gatewayProcess({ upstream: upstream.url, store: shared.url, rules: RULES, top: 'shutdownGrace: 8s' })
      t.teardown(() => gateway.kill())
      return gateway
    }
    const gateway = await start()
    const buffered = ask(gateway, '/pay', 'buffered')
    const stream = ask(gateway, '/pay', 'stream')
    const unguarded = send(`${gateway.url}/free`, { method: 'GET' })
    await within('three requests', upstream.arrived(3))
    const held = ask(gateway, '/pay', 'buffered', {
      headers: { authorization: 'Bearer a', 'idempotency-key': 'buffered', prefer: 'wait=8' },
    })
    // A connection that was taken before the end began and asks for more only later.
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    t.teardown(() => agent.destroy())
    await ask(gateway, '/pay', 'buffered', { agent })

    // And one that is in use, and asks for more before it has its answer.
    const pipelined = net.connect(Number(new URL(gateway.url).port), '127.0.0.1')
    t.teardown(() => pipelined.destroy())
    let received = ''
    pipelined.on('data', (chunk) => (received += chunk.toString()))
    pipelined.write('GET /free HTTP/1.1\r\nHost: a\r\n\r\n')
    await within('the request of the connection in use', upstream.arrived(4))

    const terminated = terminate(gateway)
    await until('the end has begun', () => gateway.log.some((line) => line.msg === 'shutting down'))
    for (const options of [{}, { agent }]) {
      const refused = await ask(gateway, '/pay', 'new', options).catch((error: NodeJS.ErrnoException) => error.code)
      if (typeof refused === 'object') t.match(refused, { status: 503, headers: { 'oncegate-error': 'shutting-down' } })
      else t.match(refused, /^ECONN(REFUSED|RESET)$/)
    }
    const closed = once(pipelined, 'close')
    pipelined.write('POST /pay HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer a\r\nIdempotency-Key: new\r\nContent-Length: 0\r\n\r\n')
    // Time for the gateway to read it.
    await new Promise((resolve) => setTimeout(resolve, 100))
    t.equal(upstream.count(), 4, 'nothing new is executed')
    door.open()
    const result = { status: 200, text: '{"done":true}', whole: true }
    t.match(await buffered, result)
    t.match(await held, { ...result, headers: { 'idempotency-replayed': 'true' } }, 'who waited has the result as well')
    t.match(await stream, { status: 200, text: 'data: 1\n\ndata: 2\n\n', whole: true })
    t.match(await unguarded, result)
    await within('the end of the connection in use', closed)
    t.match(received, /^HTTP\/1.1 200 OK\r\n[^]*\{"done":true\}/)
    const { code, tookMs } = await terminated
    t.equal(code, 0)
    t.ok(tookMs < 4000, `ended after ${tookMs} ms, without waiting for the grace to be over`)

    const next = await start()
    t.match(await ask(next, '/pay', 'buffered'), { ...result, headers: { 'idempotency-replayed': 'true' } })
    t.match(await ask(next, '/pay', 'stream'), { text: 'data: 1\n\ndata: 2\n\n', headers: { 'idempotency-replayed': 'true' } })
    t.equal(upstream.count(), 4, 'nothing new was executed')
  })
}

for (const [store, open] of Object.entries(SHARED_STORES)) {
  t.test(`executions that do not finish within the grace: ${store}`, async (t) => {
    const shared = await open()
    t.teardown(shared.remove)
    const upstream = await startUpstream((request, response) => {
      if (request.headers['idempotency-key'] === 'stream') {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('data: 1\n\n')
      }
    })
    t.teardown(upstream.close)
    const options = { upstream: upstream.url, store: shared.url, rules: RULES, top: 'shutdownGrace: 1s' }
    const [gateway, other] = await Promise.all([gatewayProcess(options), gatewayProcess(options)])
    t.teardown(() => Promise.all([gateway.kill(), other.kill()]))
    const begun = latch()
    const stream = ask(gateway, '/pay', 'stream', { onData: begun.open })
    const buffered = ask(gateway, '/pay', 'buffered')
    const owner = ask(gateway, '/again', 'waiters')
    const free = send(`${gateway.url}/free`, { method: 'GET' }).catch(() => undefined)
    await within('four requests', upstream.arrived(4))
    await within('the first event', begun.opened)
    // Whoever waits here must not become the next owner when the first is given up.
    const waiters = Array.from({ length: 5 }, () => ask(gateway, '/again', 'waiters'))
    const status = async () => {
      const execution = upstream.received.find((one) => one.url === '/again')!
      return (await send(`${gateway.url}/status/${String(execution.headers['idempotency-fingerprint'])}`, { method: 'GET' })).json()
    }
    await until('five wait', async () => (await status()).duplicates === 5)

    const { code, tookMs } = await terminate(gateway)
    t.equal(code, 0)
    t.ok(tookMs < 3000, `ended after ${tookMs} ms`)
    t.match(await ask(other, '/pay', 'stream'), { status: 409, headers: { 'oncegate-error': 'outcome-unknown' } })
    t.match(await ask(other, '/pay', 'buffered'), { status: 409, headers: { 'oncegate-error': 'outcome-unknown' } })
    t.equal((await stream).whole, false, 'a stream that was given up does not end cleanly')
    t.match(await buffered, { status: 502, headers: { 'oncegate-error': 'upstream-broken' } })
    const statuses = (await Promise.all(waiters)).map((answer) => answer.status)
    t.same([...new Set(statuses)], [425], 'who waited is told to come back')
    t.equal((await owner).status, 502)
    await free
    t.equal(upstream.count('/again'), 1, 'none of the waiters began at the end')
    upstream.handle((_request, response) => json(response, 200, { done: true }))
    t.match(await ask(other, '/again', 'waiters'), { status: 200, text: '{"done":true}' }, 'it is executed again at once')
    t.equal(upstream.received.at(-1)!.headers['idempotency-attempt'], '2')
  })
}

t.test('the store is away at the end: the process ends all the same', async (t) => {
  const redis = await RedisServer.start()
  t.teardown(() => redis.stop())
  const upstream = await startUpstream(() => {})
  t.teardown(upstream.close)
  const options = { upstream: upstream.url, store: redis.url, rules: RULES, top: 'shutdownGrace: 500ms\nstoreTimeout: 500ms' }
  const gateway = await gatewayProcess(options)
  t.teardown(() => gateway.kill())
  const asked = ask(gateway, '/pay', 'k').catch(() => undefined)
  await within('the execution', upstream.arrived(1))
  redis.pause()
  const { code, tookMs } = await terminate(gateway)
  t.equal(code, 0)
  t.ok(tookMs < 3000, `ended after ${tookMs} ms`)
  await asked
  redis.resume()
})
