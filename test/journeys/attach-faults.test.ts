// Those who have joined an answer when its gateway dies, or the store goes away: told in time, and never given a part for the whole.
import t from 'tap'
import { key } from '../helpers/behind.ts'
import { send } from '../helpers/client.ts'
import { testGateway } from '../helpers/gateway.ts'
import { gatewayProcess } from '../helpers/gateway-process.ts'
import { RedisServer } from '../helpers/redis-server.ts'
import { SHARED_STORES } from '../helpers/shared-store.ts'
import { TcpProxy } from '../helpers/tcp-proxy.ts'
import { until, within } from '../helpers/until.ts'
import { latch, startUpstream } from '../helpers/upstream.ts'

const LEASE_MS = 1500
const rules = (more = '') => `
  - name: attach
    match: { path: /* }
    fingerprint: { key: header.idempotency-key }
    inFlight: { answer: attach }
    lease: ${LEASE_MS}ms
    ${more}
`

/** An upstream that sends an event, then another one when it is let. */
async function twoEvents(t: { teardown: (end: () => Promise<void>) => unknown }) {
  const door = latch()
  const upstream = await startUpstream(async (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    response.write('data: one\n\n')
    await door.opened
    response.end('data: two\n\n')
  })
  t.teardown(() => upstream.close())
  return { upstream, door }
}

/** A request whose bytes can be seen as they come. */
function joining(url: string) {
  const seen = { text: '' }
  return { seen, answer: send(url, { headers: key('k'), onData: (chunk) => (seen.text += chunk.toString()) }) }
}

for (const [kind, open] of Object.entries(SHARED_STORES)) {
  t.test(`kill -9 of the gateway that executes: who follows at another one is told within the lease and a second (${kind})`, async (t) => {
    const { upstream } = await twoEvents(t)
    const store = await open()
    t.teardown(store.remove)
    const options = { upstream: upstream.url, store: store.url, rules: rules() }
    const [owner, other] = await Promise.all([gatewayProcess(options), gatewayProcess(options)])
    t.teardown(() => Promise.all([owner.kill(), other.kill()]))
    const first = send(owner.url, { headers: key('k') }).catch(() => undefined)
    await upstream.arrived(1)
    const { seen, answer } = joining(other.url)
    await until('the first event', () => seen.text === 'data: one\n\n')
    await owner.kill()
    t.match(await within('a broken end', answer, LEASE_MS + 1000), { status: 200, text: 'data: one\n\n', whole: false })
    t.match(await send(other.url, { headers: key('k') }), { status: 409, headers: { 'oncegate-error': 'outcome-unknown' } })
    await first
    t.equal(upstream.count(), 1)
  })
}

t.test(
  'Redis away for a moment in mid-stream: the first client notices nothing, who follows at another gateway gets all of it',
  async (t) => {
    const { upstream, door } = await twoEvents(t)
    const redis = await RedisServer.start()
    const network = await TcpProxy.start(redis.port)
    const open = (store: string) =>
      testGateway({ upstream: upstream.url, store, rules: rules().replace(`${LEASE_MS}ms`, '10s'), top: 'storeTimeout: 2s' })
    const [owner, other] = [await open(`redis://127.0.0.1:${network.port}`), await open(redis.url)]
    t.teardown(async () => {
      await Promise.all([owner.close(), other.close()])
      await network.stop()
      await redis.stop()
    })
    for (const { adminUrl } of [owner, other]) {
      await until('it is ready', async () => (await send(`${adminUrl}/readyz`, { method: 'GET' })).status === 200)
    }
    const one = joining(owner.url)
    await until('the first event', () => one.seen.text === 'data: one\n\n')
    const two = joining(other.url)
    await until('it is joined', () => two.seen.text === 'data: one\n\n')
    network.fault = 'hold'
    network.cut()
    door.open()
    await until('the first client has the second event', () => one.seen.text.endsWith('two\n\n'))
    network.fault = 'none'
    network.cut()
    for (const answer of await Promise.all([one.answer, two.answer])) t.match(answer, { text: 'data: one\n\ndata: two\n\n', whole: true })
    t.match(await send(other.url, { headers: key('k') }), {
      text: 'data: one\n\ndata: two\n\n',
      headers: { 'idempotency-replayed': 'true' },
    })
    t.equal(upstream.count(), 1)
  },
)

t.test('onDisconnect: abort cancels only when nobody who has joined is left', async (t) => {
  const { upstream } = await twoEvents(t)
  const gateway = await testGateway({ upstream: upstream.url, rules: rules('onDisconnect: abort') })
  t.teardown(() => gateway.close())
  const cut = latch()
  upstream.server.on('request', (_request, response) => response.on('close', () => cut.open()))
  const leaving = [new AbortController(), new AbortController()]
  const seen = ['', '']
  const requests = leaving.map(async ({ signal }, n) => {
    const onData = (chunk: Buffer): void => void (seen[n] += chunk.toString())
    return n === 0
      ? send(gateway.url, { headers: key('k'), signal, onData })
      : upstream.arrived(1).then(() => send(gateway.url, { headers: key('k'), signal, onData }))
  })
  for (const request of requests) request.catch(() => undefined)
  await until('both have the first event', () => seen.every((text) => text !== ''))
  leaving[0]!.abort()
  await new Promise((resolve) => setTimeout(resolve, 100))
  t.match(await send(gateway.url, { headers: { ...key('k'), prefer: 'wait=0' } }), { status: 425 }, 'it runs on for the one who is left')
  leaving[1]!.abort()
  await within('the upstream is told', cut.opened)
  await until('the outcome is unknown', async () => (await send(gateway.url, { headers: key('k') })).status === 409)
  t.equal(upstream.count(), 1)
})

t.test('a gateway that shuts down lets those go who follow an execution elsewhere, broken off', async (t) => {
  const { upstream, door } = await twoEvents(t)
  const redis = await RedisServer.start()
  const open = () => testGateway({ upstream: upstream.url, store: redis.url, rules: rules(), top: 'shutdownGrace: 200ms' })
  const [owner, other] = [await open(), await open()]
  t.teardown(async () => {
    await owner.close()
    await redis.stop()
  })
  const one = joining(owner.url)
  await until('the first event', () => one.seen.text === 'data: one\n\n')
  const two = joining(other.url)
  await until('it is joined', () => two.seen.text === 'data: one\n\n')
  await within('the other gateway ends', other.close())
  t.match(await two.answer, { whole: false })
  door.open()
  t.match(await one.answer, { whole: true })
})
