// The store stays away for longer than a lease while an answer streams: whoever saw its clean end gets the same bytes again.
import t from 'tap'
import { key } from '../helpers/behind.ts'
import { send } from '../helpers/client.ts'
import { testGateway } from '../helpers/gateway.ts'
import { RedisServer } from '../helpers/redis-server.ts'
import { TcpProxy } from '../helpers/tcp-proxy.ts'
import { until, within } from '../helpers/until.ts'
import { latch, startUpstream } from '../helpers/upstream.ts'

const LEASE_MS = 600
const RULES = `
  - name: attach
    match: { path: /* }
    fingerprint: { key: header.idempotency-key }
    inFlight: { answer: attach }
    lease: ${LEASE_MS}ms
`
const PIECES = ['data: one\n\n', 'data: two\n\n', 'data: three\n\n']

for (const { fault, awayMs } of [
  { fault: 'hold', awayMs: 1.3 * LEASE_MS },
  { fault: 'hold', awayMs: 3 * LEASE_MS },
  // The piece is in the log, and nobody knows.
  { fault: 'dropReplies', awayMs: 1.3 * LEASE_MS },
] as const) {
  t.test(`${fault} for ${awayMs} ms, from a piece on`, async (t) => {
    const redis = await RedisServer.start()
    const network = await TcpProxy.start(redis.port)
    const doors = [latch(), latch()]
    const upstream = await startUpstream(async (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      response.write(PIECES[0])
      await doors[0]!.opened
      response.write(PIECES[1])
      await doors[1]!.opened
      response.end(PIECES[2])
    })
    const gateway = await testGateway({
      upstream: upstream.url,
      store: `redis://127.0.0.1:${network.port}`,
      rules: RULES,
      top: 'storeTimeout: 200ms',
    })
    t.teardown(async () => {
      await gateway.close()
      await network.stop()
      await redis.stop()
      await upstream.close()
    })
    await until('it is ready', async () => (await send(`${gateway.adminUrl}/readyz`, { method: 'GET' })).status === 200)
    let seen = ''
    const first = send(gateway.url, { headers: key('k'), onData: (chunk) => (seen += chunk.toString()) })
    await until('the first piece', () => seen === PIECES[0])
    // It is logged by now, so that the next piece meets the fault alone.
    await new Promise((resolve) => setTimeout(resolve, 100))
    const dropped = network.dropped
    network.fault = fault
    const began = performance.now()
    doors[0]!.open()
    await until('the second piece on its way into the store', () => network.dropped > dropped && seen.endsWith(PIECES[1]!))
    doors[1]!.open()
    await new Promise((resolve) => setTimeout(resolve, awayMs - (performance.now() - began)))
    network.fault = 'none'
    network.cut()
    const answer = await within('the end of the first answer', first)
    const whole = PIECES.join('')
    if (answer.whole) t.equal(answer.text, whole)
    let again = answer
    await until('a replay', async () => {
      again = await send(gateway.url, { headers: { ...key('k'), prefer: 'wait=0' } })
      return again.headers['idempotency-replayed'] === 'true'
    })
    t.match(again, { status: 200, text: whole, whole: true })
    t.equal(upstream.count(), 1)
  })
}
