import t from 'tap'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../../src/stores/open-store.ts'
import type { AcquireRequest } from '../../src/stores/store.ts'
import { until, within } from '../helpers/until.ts'
import { startPeer, streamed } from './lmdb-peer.ts'
import { acquireOf, newFingerprint, renewOf, responseOf, settleOf } from './requests.ts'
import { neverSwept } from './sweep-contract.ts'
import { latch, storeContract } from './store-contract.ts'

const options = { timeoutMs: 5000, warn: (message: string) => t.comment(message) }

async function directory(t: { teardown: (end: () => Promise<void>) => void }): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'oncegate-lmdb.'))
  t.teardown(() => rm(path, { recursive: true, force: true }))
  return path
}

t.test('the LMDB store keeps the contract', async (t) => {
  const url = `lmdb:${await directory(t)}`
  await storeContract(t, async () => ({ store: await openStore(url, options), peer: await openStore(url, options) }))
})

t.test('what is in flight or waits, and an outcome that is unknown, is never swept', async (t) => {
  const store = await openStore(`lmdb:${await directory(t)}`, options)
  t.teardown(() => store.close())
  // The sweep looks every two seconds.
  await neverSwept(t, { store, passMs: (ms) => new Promise((resolve) => setTimeout(resolve, Math.max(ms, 2300))) })
})

t.test('two processes race for 1,000 fingerprints: each has exactly one winner', async (t) => {
  const path = await directory(t)
  const peers = [startPeer(path), startPeer(path)]
  t.teardown(async () => void (await Promise.all(peers.map((peer) => peer.kill()))))
  await Promise.all(peers.map((peer) => peer.ready))
  const fingerprints = Array.from({ length: 1000 }, newFingerprint)
  const won = (await Promise.all(peers.map((peer) => peer.ask({ verb: 'race', fingerprints })))) as string[][]
  t.equal(won.flat().length, 1000)
  t.equal(new Set(won.flat()).size, 1000)
  t.ok(
    won.every((each) => each.length > 0),
    `both took part: ${won.map((each) => each.length).join(' and ')}`,
  )
})

t.test('a settle that was acknowledged is there after kill -9 of its process', async (t) => {
  const path = await directory(t)
  const store = await openStore(`lmdb:${path}`, options)
  t.teardown(() => store.close())
  for (let round = 0; round < 5; round++) {
    const peer = startPeer(path)
    await peer.ready
    const request = acquireOf(newFingerprint())
    const settle = settleOf(request, 'completed')
    t.equal(await peer.ask({ verb: 'once', request, settle: { ...settle, response: undefined }, body: `round ${round}` }), 'ok')
    await peer.kill()
    t.match(await store.acquire(acquireOf(request.fingerprint)), { kind: 'completed', response: { body: Buffer.from(`round ${round}`) } })
  }
})

t.test('a claim of a killed process is in flight until its lease runs out, then unknown', async (t) => {
  const path = await directory(t)
  const store = await openStore(`lmdb:${path}`, options)
  t.teardown(() => store.close())
  const peer = startPeer(path)
  await peer.ready
  const request = acquireOf(newFingerprint(), { leaseMs: 400 })
  t.equal(await peer.ask({ verb: 'acquire', request }), 'acquired')
  await peer.kill()
  t.equal((await store.acquire(acquireOf(request.fingerprint))).kind, 'in_flight')
  await until('unknown', async () => (await store.acquire(acquireOf(request.fingerprint))).kind === 'unknown', 2000)
})

t.test('a watcher hears of a settling in another process, typically within 50 ms', async (t) => {
  const path = await directory(t)
  const store = await openStore(`lmdb:${path}`, options)
  const peer = startPeer(path)
  t.teardown(async () => {
    await peer.kill()
    await store.close()
  })
  await peer.ready
  const delays: number[] = []
  for (let round = 0; round < 15; round++) {
    const request = acquireOf(newFingerprint())
    await store.acquire(request)
    const called = latch()
    const stop = await store.watch(request.fingerprint, called.open)
    const settle = { ...settleOf(request, 'completed'), response: undefined }
    const settledAt = peer.ask({ verb: 'settle', settle, body: 'done' })
    await within('the call', called.opened)
    const heardAt = Date.now()
    t.equal((await store.read(request.fingerprint))?.status, 'completed')
    delays.push(heardAt - Number(await settledAt))
    stop()
  }
  const median = delays.sort((a, b) => a - b)[7] ?? Infinity
  t.comment(`median ${median} ms, longest ${delays.at(-1)} ms`)
  t.ok(median < 50, `median ${median} ms`)
})

t.test('G12: a reader sees a beginning at every moment of a log that another process writes, and its end', async (t) => {
  const path = await directory(t)
  const store = await openStore(`lmdb:${path}`, options)
  const peer = startPeer(path)
  t.teardown(async () => {
    await peer.kill()
    await store.close()
  })
  await peer.ready
  const request = acquireOf(newFingerprint())
  let changed = latch()
  const stop = await store.watch(request.fingerprint, () => changed.open())
  const [pieces, pieceBytes] = [200, 700]
  const whole = streamed(pieces * pieceBytes)
  const settle = { ...settleOf(request, 'completed'), response: undefined }
  const ended = peer.ask({ verb: 'stream', request, settle, pieces, pieceBytes })
  const lengths = new Set<number>()
  for (let offset = 0; offset < whole.length;) {
    await within('a call', changed.opened)
    changed = latch()
    const beginning = await store.readLog({ ...request, offset: 0, maxBytes: whole.length })
    const more = await store.readLog({ ...request, offset, maxBytes: 10_000 })
    if (beginning.kind === 'gone' || more.kind === 'gone') return t.fail('gone')
    if (!beginning.bytes.equals(whole.subarray(0, beginning.bytes.length))) t.fail('not a beginning')
    if (!more.bytes.equals(whole.subarray(offset, offset + more.bytes.length))) t.fail('not what follows')
    if (more.bytes.length === 10_000 || more.kind === 'closed') changed.open()
    offset += more.bytes.length
    lengths.add(beginning.bytes.length)
  }
  t.equal(await ended, 'ok')
  t.comment(`${lengths.size} different lengths were seen`)
  t.ok(lengths.size > 3, 'it was read while it grew')
  t.ok([...lengths].every((length) => length % pieceBytes === 0))
  stop()
})

t.test('a full disk is the store being out of reach, not the end of the process', async (t) => {
  const peer = startPeer(await directory(t), 2048)
  t.teardown(() => peer.kill())
  await peer.ready
  t.equal(await peer.ask({ verb: 'fill', log: true }), 'StoreUnavailable')
  t.equal(await peer.ask({ verb: 'fill', log: false }), 'StoreUnavailable', 'it still answers')
  t.equal(await peer.ask({ verb: 'fill', log: true }), 'StoreUnavailable')
})

t.test('a new generation takes the body of the earlier one from the disk', async (t) => {
  const { openEnvironment } = await import('../../src/stores/lmdb/environment.ts')
  const path = await directory(t)
  const store = await openStore(`lmdb:${path}`, options)
  const environment = openEnvironment(path)
  const first = acquireOf(newFingerprint())
  await store.acquire(first)
  await store.settle(settleOf(first, 'completed', { response: responseOf('one') }))
  const second = { ...acquireOf(first.fingerprint), onCompleted: 'execute' as const }
  await store.acquire(second)
  environment.refresh()
  t.equal(environment.bodies.getKeysCount(), 0)
  await store.settle(settleOf(second, 'completed', { response: responseOf('two') }))
  environment.refresh()
  t.equal(environment.bodies.getKeysCount(), 1)
  t.equal((await store.readResponse(first.fingerprint))?.body?.toString(), 'two')
  await store.close()
})

t.test('a tombstone has no body on disk, and leaves it in the end', async (t) => {
  const { openEnvironment } = await import('../../src/stores/lmdb/environment.ts')
  const { sweep } = await import('../../src/stores/lmdb/expiry.ts')
  const path = await directory(t)
  const store = await openStore(`lmdb:${path}`, options)
  t.teardown(() => store.close())
  const bodies = [10, 200_000].map((length) => responseOf(Buffer.alloc(length)))
  const requests = await Promise.all(
    bodies.map(async (response) => {
      const request = acquireOf(newFingerprint(), { tombstone: true })
      await store.acquire(request)
      await store.settle(settleOf(request, 'completed', { response, ttlMs: 60_000, tombstoneMs: 3_600_000 }))
      return request
    }),
  )
  const environment = openEnvironment(path)
  t.teardown(() => environment.close())
  const counts = () => {
    environment.refresh()
    return [environment.records.fingerprints().length, environment.bodies.getKeysCount(), environment.pieces.getKeysCount()]
  }
  t.same(counts().slice(0, 2), [2, 1])
  const later = Date.now() + 11 * 60_000
  // The pieces go with the next look.
  for (let n = 0; n < 2; n++) while (await sweep(environment, later));
  t.same(counts(), [2, 0, 0], 'the records alone')
  t.match(await store.read(requests[0]!.fingerprint), { response: { bodyStored: false } })
  while (await sweep(environment, later + 3_600_000));
  t.same(counts(), [0, 0, 0])
  t.equal(environment.expiry.getKeysCount(), 0)
})

t.test('expired records leave the disk: record, body and index', async (t) => {
  const { openEnvironment } = await import('../../src/stores/lmdb/environment.ts')
  const { sweep } = await import('../../src/stores/lmdb/expiry.ts')
  const path = await directory(t)
  const store = await openStore(`lmdb:${path}`, options)
  const environment = openEnvironment(path)
  const requests = Array.from({ length: 20 }, () => acquireOf(newFingerprint(), { leaseMs: 1000, ttlMs: 1000 }))
  await Promise.all(requests.map((request) => store.acquire(request)))
  const [renewed, ...settled] = requests
  if (renewed === undefined) return t.fail('no request')
  await Promise.all(settled.map((request) => store.settle(settleOf(request, 'completed', { response: responseOf('body') }))))
  await store.renew({ ...renewOf(renewed), leaseMs: 3_600_000, ttlMs: 1000 })
  const later = Date.now() + 600_000
  while (await sweep(environment, later));
  environment.refresh()
  t.same(environment.records.fingerprints(), [renewed.fingerprint], 'only the living one is left')
  t.equal(environment.bodies.getKeysCount(), 0)
  t.equal(environment.expiry.getKeysCount(), 1, 'indexed anew at its later end')
  while (await sweep(environment, later + 3_600_000));
  environment.refresh()
  t.equal(environment.records.fingerprints().length + environment.expiry.getKeysCount(), 0)
  await store.close()
})

t.test('a stream of small events becomes few pieces on the disk', async (t) => {
  const { openEnvironment } = await import('../../src/stores/lmdb/environment.ts')
  const path = await directory(t)
  const store = await openStore(`lmdb:${path}`, options)
  const environment = openEnvironment(path)
  t.teardown(() => store.close())
  const request = acquireOf(newFingerprint())
  await store.acquire(request)
  const whole = streamed(600 * 85)
  for (let n = 0; n < 600; n++) {
    await store.append({ ...request, offset: n * 85, chunk: whole.subarray(n * 85, n * 85 + 85), head: { status: 200, headers: [] } })
  }
  environment.refresh()
  const pieces = environment.pieces.getKeysCount()
  t.ok(pieces < 20, `${pieces} pieces for 600 events`)
  const reading = await store.readLog({ ...request, offset: 0, maxBytes: 1_000_000 })
  t.ok(reading.kind === 'open' && reading.bytes.equals(whole))
})

t.test('the pieces of logs leave the disk in batches, and never those of an answer that was stored in the meantime', async (t) => {
  const { openEnvironment } = await import('../../src/stores/lmdb/environment.ts')
  const { sweep } = await import('../../src/stores/lmdb/expiry.ts')
  const path = await directory(t)
  const store = await openStore(`lmdb:${path}`, options)
  const environment = openEnvironment(path)
  t.teardown(() => store.close())
  const head = { status: 200, headers: [] }
  const large = responseOf(streamed(200_000))
  // Shorter ones would be joined.
  const PIECE = Buffer.alloc(4096, 'x')
  const stream = async (pieces: number, more = {}): Promise<AcquireRequest> => {
    const request = acquireOf(newFingerprint(), { leaseMs: 1000, ttlMs: 1000, onUnknown: 'retry', ...more })
    await store.acquire(request)
    await Promise.all(Array.from({ length: pieces }, (_, n) => store.append({ ...request, offset: n * PIECE.length, chunk: PIECE, head })))
    return request
  }
  const piecesOf = (...requests: AcquireRequest[]): number[] => {
    environment.refresh()
    return requests.map(({ executionId }) => [...environment.pieces.getKeys({ start: [executionId, 0], end: [executionId, 1e9] })].length)
  }
  const swept = async (at: number): Promise<number[]> => {
    const left: number[] = []
    do left.push(environment.pieces.getKeysCount())
    while (await sweep(environment, at))
    return left
  }

  const unknown = await stream(1200)
  const overflown = await stream(10)
  const folded = await stream(10)
  const again = await stream(10)
  const abandoned = await stream(1200)
  const late = await stream(10)
  const replaced = await stream(0)
  t.same(piecesOf(unknown, overflown, folded, again, abandoned, late), [1200, 10, 10, 10, 1200, 10])
  await store.append({ ...overflown, offset: 10 * PIECE.length, chunk: Buffer.from(''), overflow: true })
  await store.settle(settleOf(folded, 'completed', { logged: 10 * PIECE.length, response: responseOf('x'.repeat(10 * PIECE.length)) }))
  await store.settle(settleOf(again, 'unknown'))
  const next = acquireOf(again.fingerprint, { onUnknown: 'retry' })
  await store.acquire(next)
  await store.append({ ...next, offset: 0, chunk: Buffer.from('next'), head })
  await store.settle(settleOf(late, 'unknown'))
  // The sweep looks for what is due before the settling, and removes it afterwards.
  const settling = store.settle(settleOf(late, 'completed', { ttlMs: 3_600_000, response: large }))
  await Promise.all([settling, sweep(environment, Date.now())])
  await store.settle(settleOf(replaced, 'completed', { response: large }))
  await store.acquire(acquireOf(replaced.fingerprint, { onCompleted: 'execute' }))
  await store.settle(settleOf(unknown, 'unknown'))

  const counts = await swept(Date.now())
  t.ok(counts.length > 2, `more than one batch: ${counts.join(' ')}`)
  t.ok(
    counts.every((count, n) => n === 0 || counts[n - 1]! - count <= 500),
    'none is large',
  )
  t.same(piecesOf(unknown, overflown, folded, again, replaced), [0, 0, 0, 0, 0])
  t.same(piecesOf(next, abandoned), [1, 1200], 'what is in use is left alone')
  const reading = await store.readLog({ ...late, offset: 0, maxBytes: 1_000_000 })
  t.ok(reading.kind === 'closed' && reading.bytes.equals(large.body), 'the late answer is whole')

  await swept(Date.now() + 7_200_000)
  await swept(Date.now() + 7_200_000)
  t.equal(environment.records.fingerprints().length + environment.pieces.getKeysCount() + environment.expiry.getKeysCount(), 0)
})
