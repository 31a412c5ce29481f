// The store is away when an execution ends: its result waits on disk, and is the answer once the store is back. It never runs twice.
import t, { type Test } from 'tap'
import { type Answer, send } from '../helpers/client.ts'
import { testGateway } from '../helpers/gateway.ts'
import { type GatewayProcess, gatewayProcess } from '../helpers/gateway-process.ts'
import { PostgresServer } from '../helpers/postgres-server.ts'
import { RedisServer } from '../helpers/redis-server.ts'
import { scrape } from '../helpers/scrape.ts'
import { TcpProxy } from '../helpers/tcp-proxy.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import { until, within } from '../helpers/until.ts'
import { json, latch, startUpstream, type TestUpstream } from '../helpers/upstream.ts'

const LEASE_MS = 1000
const RULES = ['careful', 'retry', 'pass', 'patient']
  .map(
    (name) => `
  - name: ${name}
    match: { path: /${name} }
    fingerprint: { key: header.idempotency-key }
    lease: ${name === 'patient' ? 10 * LEASE_MS : LEASE_MS}ms
    onUnknown: ${name === 'retry' ? 'retry' : 'refuse'}
    onStoreError: ${name === 'pass' ? 'pass' : 'refuse'}
`,
  )
  .join('')

function ask(gateway: { url: string }, path: string, key = 'k'): Promise<Answer> {
  return send(`${gateway.url}${path}`, { headers: { authorization: 'Bearer a', 'idempotency-key': key } })
}

function top(folder: string, more = ''): string {
  return `storeTimeout: 400ms\nspool: { folder: ${folder}${more} }`
}

async function spoolFolder(t: Test): Promise<string> {
  const { path, remove } = await temporaryDirectory()
  t.teardown(remove)
  return path
}

async function ready(gateway: { adminUrl: string }): Promise<void> {
  await until('it is ready', async () => (await send(`${gateway.adminUrl}/readyz`, { method: 'GET' })).status === 200)
}

async function held(gateway: { adminUrl: string }): Promise<number> {
  return (await scrape(gateway)).value('oncegate_spooled_results')
}

function pending(t: Test, answer: Answer, what: string): void {
  t.match(answer, { status: 503, headers: { 'oncegate-error': 'result-pending', 'retry-after': /^[1-9]/ } }, what)
}

async function replayed(t: Test, gateway: { url: string }, path: string, text: string): Promise<void> {
  let answer!: Answer
  await until(`a replay of ${path}`, async () => (answer = await ask(gateway, path)).status !== 503, 8000)
  t.match(answer, { status: 200, text, headers: { 'idempotency-replayed': 'true' } }, `${path}: the first answer after the outage`)
}

/** Answers with its count when the door is open. */
async function patientUpstream(t: Test): Promise<{ upstream: TestUpstream; open: () => void }> {
  const door = latch()
  const upstream = await startUpstream(async (request, response) => {
    const nth = upstream.count(request.url)
    await door.opened
    json(response, 200, { nth })
  })
  t.teardown(() => upstream.close())
  return { upstream, open: door.open }
}

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

for (const [kind, start] of Object.entries(SERVERS)) {
  t.test(`${kind} stands still when executions end: duplicates are refused, and replayed to once it is back`, async (t) => {
    const { server, url } = await start()
    t.teardown(() => server.stop())
    const { upstream, open } = await patientUpstream(t)
    const folder = await spoolFolder(t)
    const gateway = await testGateway({ upstream: upstream.url, store: url, rules: RULES, top: top(folder) })
    t.teardown(() => gateway.close())
    await ready(gateway)
    const paths = ['/careful', '/pass', '/retry']
    const firsts = paths.map((path) => ask(gateway, path))
    await within('the executions', upstream.arrived(paths.length))
    server.pause()
    t.teardown(() => server.resume())
    open()
    await until('the results are on disk', async () => (await held(gateway)) === 3)
    for (const path of paths) pending(t, await ask(gateway, path), `a duplicate of ${path}`)
    const [careful, pass, retry] = await within('the first answers', Promise.all(firsts))
    for (const answer of [careful!, retry!]) pending(t, answer, 'nobody has a result that is not in the store')
    t.match(pass, { status: 200, text: '{"nth":1}', whole: true }, 'but for onStoreError: pass')
    // The leases have run out at the store as well.
    server.resume()
    for (const path of paths) await replayed(t, gateway, path, '{"nth":1}')
    t.equal(upstream.count(), paths.length)
    await until('nothing waits any more', async () => (await held(gateway)) === 0)
    t.ok(gateway.log.some(({ msg }) => /kept in the spool/.test(String(msg))))
    t.ok(gateway.log.some(({ msg }) => /from the spool is stored/.test(String(msg))))
  })
}

t.test('the store is back within the lease: whoever waited for the spooled result gets it whole', async (t) => {
  const redis = await RedisServer.start()
  t.teardown(() => redis.stop())
  const door = latch()
  const upstream = await startUpstream(async (request, response) => {
    if (request.headers['idempotency-key'] === 'stream') response.write('begin ')
    await door.opened
    response.end('end')
  })
  t.teardown(() => upstream.close())
  const gateway = await testGateway({ upstream: upstream.url, store: redis.url, rules: RULES, top: top(await spoolFolder(t)) })
  t.teardown(() => gateway.close())
  await ready(gateway)
  const firsts = ['small', 'stream'].map((key) => ask(gateway, '/patient', key))
  await within('the executions', upstream.arrived(2))
  redis.pause()
  t.teardown(() => redis.resume())
  door.open()
  await until('the results are on disk', async () => (await held(gateway)) === 2)
  redis.resume()
  const [small, stream] = await within('the first answers', Promise.all(firsts))
  t.match(small, { status: 200, text: 'end', whole: true })
  t.match(stream, { status: 200, text: 'begin end', whole: true })
  t.equal((await ask(gateway, '/patient', 'stream')).headers['idempotency-replayed'], 'true')
  t.equal(upstream.count(), 2)
})

/** One gateway with a spooled result, the store being down. */
async function outage(
  t: Test,
  path: string,
): Promise<{ redis: RedisServer; upstream: TestUpstream; gateway: GatewayProcess; again: () => Promise<GatewayProcess> }> {
  const redis = await RedisServer.start()
  t.teardown(() => redis.stop())
  const { upstream, open } = await patientUpstream(t)
  const folder = await spoolFolder(t)
  const again = async () => {
    const gateway = await gatewayProcess({
      upstream: upstream.url,
      store: redis.url,
      rules: RULES,
      top: `secret: ${'s'.repeat(32)}\n${top(folder)}`,
    })
    t.teardown(() => gateway.kill())
    return gateway
  }
  const gateway = await again()
  await ready(gateway)
  const first = ask(gateway, path).catch(() => undefined)
  await within('the execution', upstream.arrived(1))
  await redis.kill()
  open()
  await until('the result is spooled', async () => (await held(gateway)) === 1)
  void first
  return { redis, upstream, gateway, again }
}

t.test('a gateway that is killed with a spooled result: the next one settles it', async (t) => {
  const { redis, upstream, gateway, again } = await outage(t, '/retry')
  await gateway.kill()
  const next = await again()
  pending(t, await ask(next, '/retry'), 'it knows of the result')
  await redis.restart()
  await replayed(t, next, '/retry', '{"nth":1}')
  t.equal(upstream.count(), 1)
})

t.test('a gateway beside one that is killed settles for it', async (t) => {
  const { redis, upstream, gateway, again } = await outage(t, '/retry')
  const beside = await again()
  await gateway.kill()
  await redis.restart()
  await replayed(t, beside, '/retry', '{"nth":1}')
  t.equal(upstream.count(), 1)
})

const LINKED = {
  redis: async () => {
    const server = await RedisServer.start()
    return { server, url: (port: number) => `redis://127.0.0.1:${port}` }
  },
  postgres: async () => {
    const server = await PostgresServer.start()
    return { server, url: (port: number) => `postgres://postgres@127.0.0.1:${port}/postgres` }
  },
}

for (const [kind, fault] of [
  ['redis', 'hold'],
  ['redis', 'dropReplies'],
  ['postgres', 'dropReplies'],
] as const) {
  t.test(`${kind}: a large stream whose end it does not get (${fault}): byte for byte the same afterwards`, async (t) => {
    const { server, url } = await LINKED[kind]()
    const network = await TcpProxy.start(server.port)
    const doors = [latch(), latch()]
    const pieces = [100_000, 150_000, 30_000].map((size, n) => Buffer.alloc(size, `${n} piece `))
    const upstream = await startUpstream(async (_request, response) => {
      response.write(pieces[0])
      await doors[0]!.opened
      response.write(pieces[1])
      await doors[1]!.opened
      response.end(pieces[2])
    })
    const folder = await spoolFolder(t)
    const gateway = await testGateway({
      upstream: upstream.url,
      store: url(network.port),
      rules: RULES,
      top: top(folder),
    })
    t.teardown(async () => {
      await gateway.close()
      await network.stop()
      await server.stop()
      await upstream.close()
    })
    await ready(gateway)
    let seen = 0
    const first = send(`${gateway.url}/careful`, {
      headers: { authorization: 'Bearer a', 'idempotency-key': 'k' },
      onData: (chunk) => (seen += chunk.length),
    })
    await until('the first piece', () => seen === 100_000)
    // It is logged by now, so that the next piece meets the fault.
    await new Promise((resolve) => setTimeout(resolve, 100))
    const dropped = network.dropped
    network.fault = fault
    doors[0]!.open()
    await until('the second piece on its way into the store', () => network.dropped > dropped && seen === 250_000)
    doors[1]!.open()
    await until('the result is on disk', async () => (await held(gateway)) === 1)
    const answer = await within('the end of the first answer', first)
    t.notOk(answer.whole, 'no clean end before the commit')
    network.fault = 'none'
    network.cut()
    let again!: Answer
    await until('a replay', async () => (again = await ask(gateway, '/careful')).status !== 503)
    t.equal(again.headers['idempotency-replayed'], 'true')
    t.ok(again.whole && again.body.equals(Buffer.concat(pieces)))
    t.equal(upstream.count(), 1)
  })
}

t.test('a full spool: the result waits in memory', async (t) => {
  const redis = await RedisServer.start()
  t.teardown(() => redis.stop())
  const { upstream, open } = await patientUpstream(t)
  const folder = await spoolFolder(t)
  const gateway = await testGateway({ upstream: upstream.url, store: redis.url, rules: RULES, top: top(folder, ', maxSize: 6KiB') })
  t.teardown(() => gateway.close())
  await ready(gateway)
  const firsts = ['one', 'two'].map((key) => ask(gateway, '/careful', key))
  await within('the executions', upstream.arrived(2))
  redis.pause()
  t.teardown(() => redis.resume())
  open()
  const answers = await within('the first answers', Promise.all(firsts))
  t.equal(await held(gateway), 1)
  for (const answer of answers) pending(t, answer, 'not stored yet')
  t.ok(gateway.log.some(({ msg }) => /the spool is full/.test(String(msg))))
  redis.resume()
  for (const key of ['one', 'two']) {
    await until(`the result of ${key}`, async () => (await ask(gateway, '/careful', key)).headers['idempotency-replayed'] === 'true')
  }
  t.equal(upstream.count(), 2)
})

t.test('another gateway has executed meanwhile: the spooled result comes too late and changes nothing', async (t) => {
  const redis = await RedisServer.start()
  t.teardown(() => redis.stop())
  const network = await TcpProxy.start(redis.port)
  t.teardown(() => network.stop())
  const { upstream, open } = await patientUpstream(t)
  const start = async (port: number) => {
    const store = `redis://127.0.0.1:${port}`
    const gateway = await testGateway({ upstream: upstream.url, store, rules: RULES, top: top(await spoolFolder(t)) })
    t.teardown(() => gateway.close())
    return gateway
  }
  const [away, other] = [await start(network.port), await start(redis.port)]
  await Promise.all([ready(away), ready(other)])
  const first = ask(away, '/retry')
  await within('the execution', upstream.arrived(1))
  network.fault = 'hold'
  network.cut()
  open()
  await until('the result is spooled', async () => (await held(away)) === 1)
  pending(t, await first, 'its client')
  let second!: Answer
  await until('the second execution', async () => (second = await ask(other, '/retry')).status === 200)
  t.equal(second.text, '{"nth":2}')
  network.fault = 'none'
  network.cut()
  await replayed(t, away, '/retry', '{"nth":2}')
  await until('nothing waits any more', async () => (await held(away)) === 0)
  t.match(await ask(other, '/retry'), { text: '{"nth":2}', headers: { 'idempotency-replayed': 'true' } })
  t.equal((await scrape(away)).value('oncegate_stale_settles_total'), 1)
  t.ok(away.log.some(({ msg }) => /came too late and was dropped/.test(String(msg))))
  t.equal(upstream.count(), 2)
})
