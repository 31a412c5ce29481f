import t from 'tap'
import { Redis } from 'ioredis'
import type { AcquireRequest, AppendRequest, LogRequest, Store } from '../../src/stores/store.ts'
import { StoreUnavailable } from '../../src/stores/store.ts'
import { recordKeys } from '../../src/stores/redis/keys.ts'
import { openStore } from '../../src/stores/open-store.ts'
import { RedisServer } from '../helpers/redis-server.ts'
import { TcpProxy } from '../helpers/tcp-proxy.ts'
import { until, within } from '../helpers/until.ts'
import { acquireOf, inGroup, newFingerprint, newGroup, renewOf, responseOf, settleOf } from './requests.ts'
import { latch, storeContract } from './store-contract.ts'

const TIMEOUT_MS = 500
const GRACE_MS = 200

const server = await RedisServer.start()
const bare = new Redis(server.url)
t.teardown(async () => {
  bare.disconnect()
  await server.stop()
})

function open(port: number, warn: (message: string) => void = () => undefined, timeoutMs = TIMEOUT_MS): Promise<Store> {
  return openStore(`redis://127.0.0.1:${port}`, { timeoutMs, warn })
}

/** A store that reaches the server through a network that can fail. */
async function openThroughProxy(t: { teardown: (end: () => Promise<void>) => void }): Promise<{ store: Store; proxy: TcpProxy }> {
  const proxy = await TcpProxy.start(server.port)
  const store = await open(proxy.port)
  t.teardown(async () => {
    await store.close()
    await proxy.stop()
  })
  return { store, proxy }
}

function pieceOf({ fingerprint, executionId }: AcquireRequest, offset: number, text: string): AppendRequest {
  return { fingerprint, executionId, offset, chunk: Buffer.from(text), head: { status: 200, headers: [] } }
}

function readOf({ fingerprint, executionId }: AcquireRequest): LogRequest {
  return { fingerprint, executionId, offset: 0, maxBytes: 1_000_000 }
}

async function worksAgain(store: Store): Promise<void> {
  await until('the store works again', () =>
    store.ping().then(
      () => true,
      () => false,
    ),
  )
}

t.test('the Redis store keeps the contract', async (t) => {
  await storeContract(t, async () => ({ store: await open(server.port, undefined, 5000), peer: await open(server.port, undefined, 5000) }))
})

t.test(
  'G7: every key has an expiry but the secret and what is kept for ever, and the keys of a fingerprint share one hash tag',
  async (t) => {
    await bare.flushall()
    const store = await open(server.port)
    t.teardown(() => store.close())
    await store.secret('s')
    const forever = acquireOf(newFingerprint(), { ttlMs: Infinity })
    await store.acquire(forever)
    await store.append(pieceOf(forever, 0, 'kept'))
    await store.renew(renewOf(forever))
    for (let n = 0; n < 50; n++) {
      const request = acquireOf(newFingerprint())
      await store.acquire(request)
      if (n % 2 === 0) await store.append(pieceOf(request, 0, 'x'))
      if (n % 5 === 0) await store.renew(renewOf(request))
      const response = responseOf(Buffer.alloc(n % 4 === 0 ? 100_000 : 10))
      if (n % 5 > 1) await store.settle(settleOf(request, (['completed', 'failed', 'unknown'] as const)[n % 3] ?? 'failed', { response }))
      if (n % 5 > 3) await store.acquire(acquireOf(request.fingerprint, { onUnknown: 'retry' }))
    }
    const keys = await bare.keys('*')
    t.ok(keys.length > 50)
    const endless: string[] = []
    for (const key of keys) {
      if ((await bare.pttl(key)) === -1) endless.push(key)
      if (key !== 'oncegate:secret') t.match(key, /^oncegate:\{[A-Za-z0-9_-]{8}\}[A-Za-z0-9_-]+(:lease|:log)?$/)
    }
    const kept = recordKeys(forever.fingerprint)[0]
    t.same(endless.sort(), ['oncegate:secret', kept, `${kept}:log`].sort())
    // The scripts name all that they touch in KEYS: a user who may touch nothing else can run them.
    await bare.call('ACL', ['SETUSER', 'narrow', 'on', '>pw', '~oncegate:*', '&oncegate:*', '+@all'])
    const narrow = await openStore(`redis://narrow:pw@127.0.0.1:${server.port}`, { timeoutMs: TIMEOUT_MS, warn: () => undefined })
    const request = acquireOf(newFingerprint())
    t.equal((await narrow.acquire(request)).kind, 'acquired')
    t.equal(await narrow.settle(settleOf(request, 'completed')), 'ok')
    await narrow.close()
  },
)

t.test('a tombstone is a key of its own: the record goes with its body', async (t) => {
  await bare.flushall()
  const store = await open(server.port)
  t.teardown(() => store.close())
  const request = acquireOf(newFingerprint(), { tombstone: true, ttlMs: 1 })
  await store.acquire(request)
  const response = responseOf(Buffer.alloc(100_000))
  await store.settle(settleOf(request, 'completed', { response, keepAtLeastMs: 50, tombstoneMs: 60_000 }))
  await until('its result is over', async () => (await store.acquire({ ...request, executionId: 'e' })).kind === 'expired')
  const key = `oncegate:{${request.fingerprint.slice(0, 8)}}${request.fingerprint.slice(8)}:tombstone`
  t.same(await bare.keys('*'), [key])
  t.ok((await bare.strlen(key)) < 1000)
  t.ok((await bare.pttl(key)) > 50_000)
})

t.test('every key of an exclusive group has an expiry, and all of them share one hash tag', async (t) => {
  await bare.flushall()
  const store = await open(server.port)
  t.teardown(() => store.close())
  const group = newGroup()
  const exclusive = { whenBusy: 'wait', placeMs: 5000 } as const
  const [holder, first, last] = [0, 1, 2].map(() => acquireOf(inGroup(group), { exclusive }))
  for (const request of [holder!, first!, last!, first!]) await store.acquire(request)
  await store.renew(renewOf(holder!))
  const keys = await bare.keys('*')
  const keyOf = (name: string) => `oncegate:{${name.slice(0, 8)}}${name.slice(8)}`
  const records = [holder!, first!, last!].map(({ fingerprint }) => keyOf(fingerprint))
  const own = [':holder', ':line', ':places'].map((part) => keyOf(group) + part)
  t.same(keys.toSorted(), [...own, ...records, `${records[0]}:lease`].toSorted())
  for (const key of keys) t.ok((await bare.pttl(key)) > 0, key)
  for (const [n, request] of [holder!, first!, last!].entries()) {
    if (n > 0) t.equal((await store.acquire(request)).kind, 'acquired')
    await store.settle(settleOf(request, 'completed'))
  }
  t.same((await bare.keys('*')).toSorted(), records.toSorted(), 'nothing is left of the group')
})

t.test('a removed record leaves no key, and its log, which may be large, none either', async (t) => {
  await bare.flushall()
  const store = await open(server.port)
  t.teardown(() => store.close())
  const request = acquireOf(newFingerprint())
  await store.acquire(request)
  await store.append(pieceOf(request, 0, 'x'.repeat(100_000)))
  await store.settle(settleOf(request, 'completed', { response: responseOf(''), logged: 100_000 }))
  t.equal((await bare.keys('*')).length, 2)
  t.equal(await store.remove(request), 'ok')
  t.same(await bare.keys('*'), [])
})

t.test('a claim whose record was evicted is in flight for everybody else, and its own execution gets it back', async (t) => {
  const store = await open(server.port)
  t.teardown(() => store.close())
  const request = acquireOf(newFingerprint())
  await store.acquire(request)
  await bare.del(recordKeys(request.fingerprint)[0])
  const claim = await store.acquire(acquireOf(request.fingerprint, { onUnknown: 'retry' }))
  t.match(claim, { kind: 'in_flight', record: { status: 'processing', executionId: request.executionId, rule: 'pay' } })
  t.equal(await bare.exists(recordKeys(request.fingerprint)[0]), 0, 'nothing was written without a claim')
  t.equal((await store.acquire(request)).kind, 'acquired')
  t.equal(await store.settle(settleOf(request, 'completed')), 'ok')
})

t.test(
  'a claim whose record was evicted is in flight also for who looks for it as an alias, and its own execution gets it back',
  async (t) => {
    const store = await open(server.port)
    t.teardown(() => store.close())
    const request = acquireOf(newFingerprint())
    await store.acquire(request)
    await bare.del(recordKeys(request.fingerprint)[0])
    const other = { fingerprint: newFingerprint(request.fingerprint), aliases: [request.fingerprint] }
    t.match(await store.acquire(acquireOf(other.fingerprint, other)), { kind: 'in_flight', record: { fingerprint: request.fingerprint } })
    t.equal(await bare.exists(recordKeys(other.fingerprint)[0]), 0)
    t.match(await store.acquire({ ...request, ...other }), { kind: 'acquired', fingerprint: request.fingerprint, attempt: 1 })
  },
)

t.test("G7: the log goes with its record, whatever moves the record's end", async (t) => {
  const store = await open(server.port)
  t.teardown(() => store.close())
  const request = acquireOf(newFingerprint())
  const keyed = recordKeys(request.fingerprint)[0]
  const ends = async (): Promise<number[]> => [await bare.pexpiretime(keyed), await bare.pexpiretime(`${keyed}:log`)]
  const seen = new Set<number>()
  const together = async (when: string): Promise<void> => {
    const [record = 0, log = 0] = await ends()
    t.ok(record > 0)
    t.equal(log, record, when)
    seen.add(record)
  }
  await store.acquire(request)
  await store.append(pieceOf(request, 0, 'one'))
  await together('appended')
  await store.renew({ ...renewOf(request), leaseMs: 100_000 })
  await together('renewed')
  await store.append(pieceOf(request, 3, 'two'))
  await together('appended again')
  const response = responseOf(Buffer.alloc(100_000))
  await store.settle(settleOf(request, 'completed', { response, ttlMs: 300_000 }))
  await together('settled')
  t.equal(seen.size, 3)
  await store.acquire(acquireOf(request.fingerprint, { onCompleted: 'execute' }))
  t.equal(await bare.exists(`${keyed}:log`), 0, 'a new generation')
})

t.test('no log is left behind that nobody will read', async (t) => {
  const store = await open(server.port)
  t.teardown(() => store.close())
  const logged = async (end: (request: AcquireRequest) => Promise<unknown>): Promise<number> => {
    const request = acquireOf(newFingerprint(), { onUnknown: 'retry' })
    await store.acquire(request)
    await store.append(pieceOf(request, 0, 'one'))
    await end(request)
    return bare.exists(recordKeys(request.fingerprint)[2])
  }
  t.equal(await logged((request) => store.settle(settleOf(request, 'unknown'))), 0)
  t.equal(await logged((request) => store.settle(settleOf(request, 'failed'))), 0)
  t.equal(await logged((request) => store.settle(settleOf(request, 'completed', { logged: 3, response: responseOf('one') }))), 0)
  t.equal(await logged((request) => store.settle(settleOf(request, 'completed'))), 0)
  t.equal(await logged((request) => store.append({ ...pieceOf(request, 3, ''), overflow: true })), 0)
  const large = { logged: 0, response: responseOf(Buffer.alloc(100_000)) }
  t.equal(
    await logged(async (request) => {
      await store.settle(settleOf(request, 'unknown', large))
      await store.settle(settleOf(request, 'completed'))
    }),
    0,
  )
})

t.test('a log that was evicted is gone: no part of it is given for the whole, nor an empty body for a large one', async (t) => {
  const store = await open(server.port)
  t.teardown(() => store.close())
  const evict = (fingerprint: string): Promise<number> => bare.del(recordKeys(fingerprint)[2])
  const whole = responseOf(Buffer.alloc(100_000, 'x'))

  for (const first of ['one', '']) {
    const running = acquireOf(newFingerprint())
    await store.acquire(running)
    await store.append(pieceOf(running, 0, first))
    await evict(running.fingerprint)
    t.match(await store.readLog(readOf(running)), { kind: 'gone', record: { status: 'processing' } })
    t.equal(await store.append(pieceOf(running, first.length, 'two')), 'stale')
    t.equal(await bare.exists(recordKeys(running.fingerprint)[2]), 0)
    await store.settle(settleOf(running, 'completed', { response: whole, logged: 10 }))
    t.match(await store.acquire(acquireOf(running.fingerprint)), { kind: 'completed', response: { head: { bodyStored: false } } })
  }

  const settled = acquireOf(newFingerprint())
  await store.acquire(settled)
  await store.settle(settleOf(settled, 'completed', { response: whole }))
  t.match(await store.acquire(acquireOf(settled.fingerprint)), { response: { head: { bodyStored: true }, body: undefined } })
  await evict(settled.fingerprint)
  const lost = { head: { ...whole.head, bodyStored: false }, body: Buffer.alloc(0) }
  t.match(await store.acquire(acquireOf(settled.fingerprint)), { kind: 'completed', record: { response: lost.head }, response: lost })
  t.match(await store.readResponse(settled.fingerprint), lost)
  t.match(await store.read(settled.fingerprint), { response: lost.head })
  t.match(await store.readLog(readOf(settled)), { kind: 'gone', record: { status: 'completed', response: lost.head } })
})

t.test("the log of an evicted record is nobody else's", async (t) => {
  const store = await open(server.port)
  t.teardown(() => store.close())
  const first = acquireOf(newFingerprint(), { leaseMs: 60 })
  await store.acquire(first)
  await store.append(pieceOf(first, 0, 'of the first'))
  await bare.del(recordKeys(first.fingerprint)[0])
  await until('the lease has lapsed', async () => (await store.read(first.fingerprint)) === undefined)
  const second = acquireOf(first.fingerprint)
  t.match(await store.acquire(second), { kind: 'acquired', attempt: 1 })
  t.match(await store.readLog(readOf(second)), { kind: 'open', head: undefined, bytes: Buffer.alloc(0) })
  t.equal(await store.append(pieceOf(second, 12, '!')), 'stale')
  await store.append(pieceOf(second, 0, 'mine'))
  t.match(await store.readLog(readOf(second)), { kind: 'open', bytes: Buffer.from('mine') })
})

t.test('SCRIPT FLUSH again and again is invisible', async (t) => {
  const store = await open(server.port, undefined, 5000)
  const flusher = setInterval(() => void bare.script('FLUSH'), 5)
  t.teardown(async () => {
    clearInterval(flusher)
    await store.close()
  })
  const once = async (): Promise<string> => {
    const request = acquireOf(newFingerprint())
    const claim = await store.acquire(request)
    return `${claim.kind} ${await store.settle(settleOf(request, 'completed'))} ${(await store.acquire(acquireOf(request.fingerprint))).kind}`
  }
  const seen = new Set<string>()
  for (let round = 0; round < 40; round++) {
    for (const end of await Promise.all(Array.from({ length: 50 }, once))) seen.add(end)
  }
  t.same([...seen], ['acquired ok completed'])
})

t.test('a server that stands still: every call is refused in time, and it works again afterwards', async (t) => {
  const store = await open(server.port)
  t.teardown(() => store.close())
  const watched = acquireOf(newFingerprint())
  await store.acquire(watched)
  server.pause()
  const began = Date.now()
  const request = acquireOf(newFingerprint())
  const verbs: (() => Promise<unknown>)[] = [
    () => store.acquire(request),
    () => store.renew(renewOf(request)),
    () => store.settle(settleOf(request, 'failed')),
    () => store.append(pieceOf(request, 0, 'x')),
    () => store.cancel(request),
    () => store.readLog(readOf(request)),
    () => store.read('f'),
    () => store.readResponse('f'),
    () => store.secret('s'),
    () => store.ping(),
    () => store.watch('f', () => undefined),
  ]
  const calls = Array.from({ length: 400 }, (_, n) => verbs[n % verbs.length]?.() ?? Promise.resolve())
  const results = await Promise.allSettled(calls)
  const took = Date.now() - began
  t.ok(took <= TIMEOUT_MS + GRACE_MS, `${took} ms`)
  t.ok(results.every((result) => result.status === 'rejected' && result.reason instanceof StoreUnavailable))
  const later = Date.now()
  await t.rejects(store.acquire(request), StoreUnavailable)
  t.ok(Date.now() - later <= TIMEOUT_MS + GRACE_MS)
  server.resume()
  await worksAgain(store)
  t.equal((await store.acquire(acquireOf(newFingerprint()))).kind, 'acquired')
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
  const other = await open(server.port)
  await other.settle(settleOf(request, 'completed'))
  await other.close()
  await until('the message is lost', () => proxy.dropped > dropped)
  proxy.fault = 'none'
  await worksAgain(store)
  await t.resolves(within('the watcher is told of what it missed', heard.opened))
})

t.test('a connection cut in mid-command, 100 times: every call ends in time, and no key is left without expiry', async (t) => {
  const { store, proxy } = await openThroughProxy(t)
  const seen = new Set<string>()
  for (let round = 0; round < 100; round++) {
    await worksAgain(store)
    const arrived = proxy.nextRequest()
    const calls = Array.from({ length: 5 }, () => store.acquire(acquireOf(newFingerprint())))
    void arrived.then(() => (round % 2 ? proxy.cut() : setImmediate(() => proxy.cut())))
    for (const result of await within('the end of all calls', Promise.allSettled(calls), TIMEOUT_MS + GRACE_MS)) {
      if (result.status === 'rejected' && !(result.reason instanceof StoreUnavailable)) t.fail(String(result.reason))
      seen.add(result.status)
    }
  }
  t.ok(seen.has('rejected'), [...seen].join(' '))
  await worksAgain(store)
  t.equal((await store.acquire(acquireOf(newFingerprint()))).kind, 'acquired')
  for (const key of await bare.keys('oncegate:*:lease')) t.not(await bare.pttl(key), -1)
})

t.test('an acquire whose reply was lost, sent again, finds its own claim', async (t) => {
  const { store, proxy } = await openThroughProxy(t)
  const request = acquireOf(newFingerprint())
  await store.ping()
  proxy.fault = 'dropReplies'
  await t.rejects(store.acquire(request), StoreUnavailable)
  proxy.fault = 'none'
  t.equal(await bare.get(recordKeys(request.fingerprint)[1]), request.executionId, 'the claim was made')
  await worksAgain(store)
  t.same(await store.acquire(request), { kind: 'acquired', fingerprint: request.fingerprint, attempt: 1, after: 'none' })
  t.equal((await store.acquire(acquireOf(request.fingerprint))).kind, 'in_flight')
})

t.test('a settle whose reply was lost, sent again, is ok', async (t) => {
  const { store, proxy } = await openThroughProxy(t)
  const request = acquireOf(newFingerprint())
  await store.acquire(request)
  proxy.fault = 'dropReplies'
  await t.rejects(store.settle(settleOf(request, 'completed', { response: responseOf('kept') })), StoreUnavailable)
  proxy.fault = 'none'
  await worksAgain(store)
  t.equal(await store.settle(settleOf(request, 'completed')), 'ok')
  t.equal((await store.readResponse(request.fingerprint))?.body?.toString(), 'kept')
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
  const other = await open(server.port)
  await other.settle(settleOf(request, 'completed'))
  await other.close()
  await until('told of the settling', () => calls > before)
  t.ok(calls > before)
})

t.test('a gateway starts while the server is down, refuses at once, and works when it comes up', async (t) => {
  const late = await RedisServer.prepare()
  const warnings: string[] = []
  const began = Date.now()
  const store = await open(late.port, (message) => warnings.push(message))
  t.teardown(async () => {
    await store.close()
    await late.stop()
  })
  await t.rejects(store.acquire(acquireOf(newFingerprint())), StoreUnavailable)
  t.ok(Date.now() - began < TIMEOUT_MS + GRACE_MS)
  await until('a warning', () => warnings.length > 0)
  t.match(warnings, [/out of reach/])
  await late.restart()
  await worksAgain(store)
  const request = acquireOf(newFingerprint())
  t.equal((await store.acquire(request)).kind, 'acquired')
  await late.kill()
  await t.rejects(store.read(request.fingerprint), StoreUnavailable)
  await late.restart()
  await worksAgain(store)
  t.equal(await store.settle(settleOf(request, 'completed')), 'ok', 'the first call after a restart, and the record was on disk')
})

t.test('the operator is warned of a server that may forget, once, and of no other', async (t) => {
  const cases = [
    { settings: [], expected: [] },
    { settings: ['--maxmemory-policy', 'allkeys-lru'], expected: [/allkeys-lru/] },
    { settings: ['--appendonly', 'no'], expected: [/nothing on disk/] },
    { settings: ['--appendonly', 'no', '--save', '60 1'], expected: [/snapshots only/] },
    { settings: ['--replicaof', '127.0.0.1', String(server.port)], expected: [/is a replica/] },
  ]
  for (const { settings, expected } of cases) {
    const forgetful = await RedisServer.start(settings)
    const warnings: string[] = []
    const store = await open(forgetful.port, (message) => warnings.push(message))
    if (expected.length > 0) await until('a warning', () => warnings.length > 0)
    for (let n = 0; n < 5; n++) await store.ping()
    t.equal(warnings.length, expected.length)
    t.match(warnings, expected)
    await store.close()
    await forgetful.stop()
  }
})
