import { inspect } from 'node:util'
import { Client } from 'pg'
import t from 'tap'
import type { AcquireRequest, AppendRequest, LogRequest, Store } from '../../src/stores/store.ts'
import { StoreUnavailable } from '../../src/stores/store.ts'
import { openStore } from '../../src/stores/open-store.ts'
import { PostgresServer } from '../helpers/postgres-server.ts'
import { TcpProxy } from '../helpers/tcp-proxy.ts'
import { until, within } from '../helpers/until.ts'
import { acquireOf, newFingerprint, renewOf, responseOf, settleOf } from './requests.ts'
import { latch, storeContract } from './store-contract.ts'

const TIMEOUT_MS = 500
const GRACE_MS = 250

const server = await PostgresServer.start()
const { name: database, url } = await server.database()
t.teardown(() => server.stop())

function open(at = url, timeoutMs = TIMEOUT_MS, warn: (message: string) => void = () => undefined): Promise<Store> {
  return openStore(at, { timeoutMs, warn })
}

/** A store that reaches the server through a network that can fail. */
async function openThroughProxy(t: { teardown: (end: () => Promise<void>) => void }): Promise<{ store: Store; proxy: TcpProxy }> {
  const proxy = await TcpProxy.start(server.port)
  const store = await open(`postgres://postgres@127.0.0.1:${proxy.port}/${database}`)
  t.teardown(async () => {
    await store.close()
    await proxy.stop()
  })
  return { store, proxy }
}

function sql<R extends object>(text: string, values: unknown[] = []): Promise<R[]> {
  return server.sql<R>(text, database, values)
}

function pieceOf({ fingerprint, executionId }: AcquireRequest, offset: number, text: string): AppendRequest {
  return { fingerprint, executionId, offset, chunk: Buffer.from(text), head: { status: 200, headers: [] } }
}

function readOf({ fingerprint, executionId }: AcquireRequest): LogRequest {
  return { fingerprint, executionId, offset: 0, maxBytes: 1_000_000 }
}

function everyVerb(store: Store, request: AcquireRequest): (() => Promise<unknown>)[] {
  return [
    () => store.acquire(request),
    () => store.renew(renewOf(request)),
    () => store.settle(settleOf(request, 'failed')),
    () => store.append(pieceOf(request, 0, 'x')),
    () => store.cancel(request),
    () => store.readLog(readOf(request)),
    () => store.read(request.fingerprint),
    () => store.readResponse(request.fingerprint),
    () => store.secret('s'),
    () => store.ping(),
  ]
}

function works(store: Store): Promise<boolean> {
  return store.ping().then(
    () => true,
    () => false,
  )
}

function worksAgain(store: Store): Promise<void> {
  return until('the store works again', () => works(store))
}

t.test('the PostgreSQL store keeps the contract, and reads no table whole', async (t) => {
  const own = await server.database()
  const scans = () =>
    server.sql(
      `SELECT relname, seq_scan FROM pg_stat_user_tables WHERE relname IN ('oncegate_record', 'oncegate_piece') ORDER BY 1`,
      own.name,
    )
  let before: unknown
  await storeContract(t, async () => {
    const first = await open(own.url, 5000)
    const request = acquireOf(newFingerprint())
    await first.acquire(request)
    await first.append(pieceOf(request, 0, 'x'))
    await first.close()
    // The server now knows how small they are.
    await server.sql('VACUUM ANALYZE', own.name)
    before = await scans()
    return { store: await open(own.url, 5000), peer: await open(own.url, 5000) }
  })
  t.same(await scans(), before)
})

t.test('G7: what is over is swept with its pieces, and nothing else: not a living lease, not a later end, not for ever', async (t) => {
  const own = await server.database()
  const sql = <R extends object>(text: string, values: unknown[] = []): Promise<R[]> => server.sql<R>(text, own.name, values)
  const store = await open(own.url)
  t.teardown(() => store.close())
  const large = { response: responseOf(Buffer.alloc(100_000)) }
  const short = { ttlMs: 1, leaseMs: 20 }
  const over: AcquireRequest[] = []
  const kept = [
    acquireOf(newFingerprint(), { ttlMs: 1, leaseMs: 60_000 }),
    acquireOf(newFingerprint(), { ttlMs: Infinity }),
    acquireOf(newFingerprint()),
    acquireOf(newFingerprint(), short),
  ]
  for (const request of kept) await store.acquire(request)
  t.equal(await store.settle(settleOf(kept[3]!, 'completed', { ttlMs: 60_000 })), 'ok', 'its end is later than it seemed')
  const begin = async (more: Partial<AcquireRequest>): Promise<AcquireRequest> => {
    const request = acquireOf(newFingerprint(), more)
    await store.acquire(request)
    over.push(request)
    return request
  }
  await store.append(pieceOf(await begin({ ttlMs: 1, leaseMs: 1000 }), 0, 'one'))
  await store.settle(settleOf(await begin({ ttlMs: 1, leaseMs: 1000 }), 'completed', { ...large, keepAtLeastMs: 1000 }))
  for (let n = 0; n < 1200; n += 100) await Promise.all(Array.from({ length: 100 }, () => begin(short)))
  // One that was dropped while its record lives.
  await store.append(pieceOf(kept[2]!, 0, 'one'))
  await store.settle(settleOf(kept[2]!, 'failed'))
  const left = async (): Promise<number> => (await sql<{ n: number }>('SELECT count(*)::int AS n FROM oncegate_piece'))[0]!.n
  t.equal(await left(), 4)
  const buried = acquireOf(newFingerprint(), { ttlMs: 1, leaseMs: 1000 })
  await store.acquire(buried)
  await store.settle(settleOf(buried, 'completed', { ...large, keepAtLeastMs: 1000, tombstoneMs: 60_000 }))
  kept.push(buried)
  const names = over.map(({ fingerprint }) => fingerprint)
  const text = 'SELECT count(*)::int AS n FROM oncegate_record WHERE fingerprint = ANY ($1)'
  await until('they are swept', async () => (await sql<{ n: number }>(text, [names]))[0]!.n === 0, 12_000)
  await until('and their pieces', async () => (await left()) === 0, 12_000)
  for (const request of kept) t.not(await store.read(request.fingerprint), undefined)
  const without = await sql('SELECT fingerprint FROM oncegate_record WHERE expires_at IS NULL OR sweep_at IS NULL')
  t.same(without, [{ fingerprint: kept[1]!.fingerprint }], 'every record has an end but the one that is kept for ever')
})

t.test('a server that stands still: every call is refused in time, and it works again afterwards', async (t) => {
  const store = await open()
  t.teardown(() => store.close())
  await store.ping()
  server.pause()
  t.teardown(() => server.resume())
  const began = Date.now()
  const verbs = [...everyVerb(store, acquireOf(newFingerprint())), () => store.watch('f', () => undefined)]
  const results = await Promise.allSettled(Array.from({ length: 330 }, (_, n) => verbs[n % verbs.length]!()))
  const took = Date.now() - began
  t.ok(took <= TIMEOUT_MS + GRACE_MS, `${took} ms`)
  t.ok(results.every((result) => result.status === 'rejected' && result.reason instanceof StoreUnavailable))
  const later = Date.now()
  await t.rejects(store.acquire(acquireOf(newFingerprint())), StoreUnavailable)
  t.ok(Date.now() - later <= TIMEOUT_MS + GRACE_MS)
  server.resume()
  await worksAgain(store)
  t.equal((await store.acquire(acquireOf(newFingerprint()))).kind, 'acquired')
})

t.test('a server that is slow keeps its connections: what is refused meanwhile costs no new ones', async (t) => {
  const own = await server.database()
  const store = await open(own.url)
  const holder = new Client(own.url)
  await holder.connect()
  t.teardown(async () => {
    await holder.end()
    await store.close()
    await own.drop()
  })
  const crowd = () => Promise.allSettled(Array.from({ length: 100 }, () => store.acquire(acquireOf(newFingerprint()))))
  const backends = () =>
    server.sql<{ pid: number }>(`SELECT pid FROM pg_stat_activity WHERE datname = '${own.name}' AND pid <> ${holderPid} ORDER BY pid`)
  const { rows } = await holder.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  const holderPid = rows[0]!.pid
  await crowd()
  const before = await backends()
  await holder.query('BEGIN; LOCK TABLE oncegate_record IN ACCESS EXCLUSIVE MODE')
  // The first ones' statements run into the server's own limit; those behind them then have a connection for what is left of their time.
  const refused = await crowd()
  t.ok(refused.every(({ status }) => status === 'rejected'))
  await holder.query('COMMIT')
  await worksAgain(store)
  t.same(await backends(), before)
  t.ok((await crowd()).every(({ status }) => status === 'fulfilled'))
})

t.test('what waits for a connection does not outlive its request', async (t) => {
  const store = await open(`${url}?connections=2`)
  const locker = new Client(url)
  await locker.connect()
  t.teardown(async () => {
    await locker.end()
    await store.close()
  })
  await store.ping()
  await locker.query('BEGIN; LOCK TABLE oncegate_record')
  const requests = Array.from({ length: 50 }, () => acquireOf(newFingerprint()))
  const results = await Promise.allSettled(requests.map((request) => store.acquire(request)))
  t.ok(results.every(({ status }) => status === 'rejected'))
  await locker.query('COMMIT')
  await worksAgain(store)
  // Whatever the server was given before the end is done by now.
  await sql('BEGIN; LOCK TABLE oncegate_record; COMMIT')
  const claimed = await sql('SELECT fingerprint FROM oncegate_record WHERE fingerprint = ANY ($1)', [requests.map((r) => r.fingerprint)])
  t.ok(claimed.length <= 2, `${claimed.length} of what was sent was done, and nothing that was not`)
})

t.test('a black hole that ends, with no connection reset, is noticed and left', async (t) => {
  const { store, proxy } = await openThroughProxy(t)
  const request = acquireOf(newFingerprint())
  await store.acquire(request)
  const heard = latch()
  await store.watch(request.fingerprint, heard.open)
  proxy.fault = 'hold'
  await t.rejects(within('a refusal', store.ping(), TIMEOUT_MS + GRACE_MS), StoreUnavailable)
  const dropped = proxy.dropped
  const other = await open()
  await other.settle(settleOf(request, 'completed'))
  await other.close()
  await until('the message is lost', () => proxy.dropped > dropped)
  proxy.fault = 'none'
  await worksAgain(store)
  await t.resolves(within('the watcher is told of what it missed', heard.opened))
})

t.test('a connection cut in mid-command, 60 times: every call ends in time, with one claim each at most', async (t) => {
  const { store, proxy } = await openThroughProxy(t)
  const seen = new Set<string>()
  for (let round = 0; round < 60; round++) {
    await worksAgain(store)
    const arrived = proxy.nextRequest()
    const requests = Array.from({ length: 5 }, () => acquireOf(newFingerprint()))
    const calls = requests.map((request) => store.acquire(request))
    void arrived.then(() => (round % 2 ? proxy.cut() : setImmediate(() => proxy.cut())))
    const results = await within('the end of all calls', Promise.allSettled(calls), TIMEOUT_MS + GRACE_MS)
    for (const result of results) {
      if (result.status === 'rejected' && !(result.reason instanceof StoreUnavailable)) t.fail(String(result.reason))
      seen.add(result.status)
    }
  }
  t.ok(seen.has('rejected'), [...seen].join(' '))
  await worksAgain(store)
  t.equal((await store.acquire(acquireOf(newFingerprint()))).kind, 'acquired')
})

t.test('an acquire whose reply was lost, sent again, finds its own claim', async (t) => {
  const { store, proxy } = await openThroughProxy(t)
  const request = acquireOf(newFingerprint())
  await store.ping()
  proxy.fault = 'dropReplies'
  await t.rejects(store.acquire(request), StoreUnavailable)
  proxy.fault = 'none'
  const [row] = await sql('SELECT execution FROM oncegate_record WHERE fingerprint = $1', [request.fingerprint])
  t.same(row, { execution: request.executionId }, 'the claim was made')
  await worksAgain(store)
  t.same(await store.acquire(request), { kind: 'acquired', fingerprint: request.fingerprint, attempt: 1, after: 'none' })
  t.equal((await store.acquire(acquireOf(request.fingerprint))).kind, 'in_flight')
})

t.test('a settle and an append whose replies were lost, sent again, are ok', async (t) => {
  const { store, proxy } = await openThroughProxy(t)
  const request = acquireOf(newFingerprint())
  await store.acquire(request)
  proxy.fault = 'dropReplies'
  await t.rejects(store.append(pieceOf(request, 0, 'kept')), StoreUnavailable)
  proxy.fault = 'none'
  await worksAgain(store)
  t.equal(await store.append(pieceOf(request, 0, 'kept')), 'ok')
  proxy.fault = 'dropReplies'
  const settling = settleOf(request, 'completed', { response: responseOf(' whole'), logged: 4 })
  await t.rejects(store.settle(settling), StoreUnavailable)
  proxy.fault = 'none'
  await worksAgain(store)
  t.equal(await store.settle(settling), 'ok')
  t.equal((await store.readResponse(request.fingerprint))?.body?.toString(), 'kept whole')
})

t.test('watchers hear of settlings after their connection was cut, and are told to look when it is back', async (t) => {
  const { store, proxy } = await openThroughProxy(t)
  const request = acquireOf(newFingerprint())
  await store.acquire(request)
  let calls = 0
  await store.watch(request.fingerprint, () => calls++)
  proxy.cut()
  await until('told to look', () => calls > 0)
  const before = calls
  const other = await open()
  t.teardown(() => other.close())
  await other.settle(settleOf(request, 'completed'))
  await until('told of the settling', () => calls > before)
})

t.test('what could not be told at once is told later: the connection is away, or breaks in telling', async (t) => {
  const { store, proxy } = await openThroughProxy(t)
  const other = await open()
  t.teardown(() => other.close())
  const watched = async (): Promise<{ request: AcquireRequest; heard: Promise<void> }> => {
    const request = acquireOf(newFingerprint())
    await store.acquire(request)
    const heard = latch()
    await other.watch(request.fingerprint, heard.open)
    return { request, heard: within('the call', heard.opened) }
  }
  const first = await watched()
  proxy.cut()
  await until('it is settled', async () => (await store.settle(settleOf(first.request, 'completed')).catch(() => 'again')) === 'ok')
  await t.resolves(first.heard)

  const second = await watched()
  const dropped = proxy.dropped
  await store.settle(settleOf(second.request, 'completed'))
  // The telling is on its way, and the network has not taken it yet.
  proxy.fault = 'hold'
  await until('it is lost', () => proxy.dropped > dropped)
  proxy.fault = 'none'
  proxy.cut()
  await t.resolves(second.heard)
})

t.test('a gateway starts while the server is down, refuses at once, and works when it comes up', async (t) => {
  const late = await PostgresServer.prepare()
  const warnings: string[] = []
  const began = Date.now()
  const store = await open(late.url(), TIMEOUT_MS, (message) => warnings.push(message))
  t.teardown(async () => {
    await store.close()
    await late.stop()
  })
  await t.rejects(store.acquire(acquireOf(newFingerprint())), StoreUnavailable)
  t.ok(Date.now() - began < 2 * (TIMEOUT_MS + GRACE_MS))
  await until('a warning', () => warnings.length > 0)
  t.match(warnings, [/out of reach.*ECONNREFUSED/])
  await late.restart()
  await worksAgain(store)
  const request = acquireOf(newFingerprint())
  t.equal((await store.acquire(request)).kind, 'acquired')
  await late.kill()
  await t.rejects(store.read(request.fingerprint), StoreUnavailable)
  await late.restart()
  await worksAgain(store)
  t.equal(await store.settle(settleOf(request, 'completed')), 'ok', 'the first call after a crash, and the record was there')
  await until('told that it is back', () => warnings.at(-1) === 'PostgreSQL is back')
})

t.test('a server that has become read-only is out of reach for every verb, and is left for its successor', async (t) => {
  const fallen = await server.database()
  const store = await open(fallen.url)
  t.teardown(() => store.close())
  const request = acquireOf(newFingerprint())
  await store.acquire(request)
  const drop = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${fallen.name}'`
  await server.sql(`ALTER DATABASE ${fallen.name} SET default_transaction_read_only = on`)
  await server.sql(drop)
  await until('its connections are new', async () => !(await works(store)))
  for (const verb of everyVerb(store, request)) await t.rejects(verb(), StoreUnavailable, String(verb))
  const claims = () => Promise.all(Array.from({ length: 20 }, () => store.acquire(acquireOf(request.fingerprint)).catch(() => undefined)))
  t.same(new Set(await claims()), new Set([undefined]))
  // Nothing ends the connections to the read-only one but the store itself.
  await server.sql(`ALTER DATABASE ${fallen.name} RESET default_transaction_read_only`)
  await until('all claims are answered', async () => (await claims()).every((claim) => claim?.kind === 'in_flight'))
})

t.test('no error shows whose record it was or what was in it', async (t) => {
  const own = await server.database()
  const store = await open(own.url)
  t.teardown(() => store.close())
  const secrets = { owner: 'owner-secret', digest: 'digest-secret', digestFields: 'fields-secret', rule: 'rule' }
  const request = acquireOf(newFingerprint(), secrets)
  await store.acquire(request)
  // The server's own error now quotes the whole row.
  await server.sql('ALTER TABLE oncegate_record ADD CONSTRAINT never CHECK (false) NOT VALID', own.name)
  const settling = settleOf(request, 'completed', { response: responseOf('answer-secret', ['x', 'header-secret']) })
  const calls = [
    () => store.acquire({ ...request, fingerprint: newFingerprint() }),
    () => store.settle(settling),
    () => store.append(pieceOf(request, 0, 'piece-secret')),
  ]
  for (const call of calls) {
    const error: unknown = await call().catch((reason: unknown) => reason)
    t.type(error, StoreUnavailable)
    const shown = inspect(error, { depth: 10, showHidden: true })
    t.match(shown, /violates check constraint.*23514/)
    t.notMatch(shown, /secret/)
    t.notMatch(shown, Buffer.from('answer-secret').toString('hex'))
  }
})

t.test('the operator is warned of a server that may forget, once, and of no other', async (t) => {
  const careful = await PostgresServer.start(['fsync=on'])
  t.teardown(() => careful.stop())
  const [hasty, other] = [await careful.database(), await server.database()]
  await careful.sql(`ALTER DATABASE ${hasty.name} SET synchronous_commit = off`)
  const cases = [
    { at: careful.url(), expected: [] },
    { at: hasty.url, expected: [/synchronous_commit is off/] },
    { at: other.url, expected: [/fsync is off/] },
  ]
  for (const { at, expected } of cases) {
    const warnings: string[] = []
    const store = await open(at, 5000, (message) => warnings.push(message))
    if (expected.length > 0) await until('a warning', () => warnings.length > 0)
    for (let n = 0; n < 5; n++) await store.ping()
    t.match(warnings, expected)
    t.equal(warnings.length, expected.length, warnings.join())
    await store.close()
  }
})
