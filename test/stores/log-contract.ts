// G12: the log of a running execution's answer, as every store keeps it.
import { createHash, randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import type { AcquireRequest, AppendRequest, LogReading, SettleRequest, Store } from '../../src/stores/store.ts'
import { INLINE_BYTES } from '../../src/stores/store.ts'
import { until } from '../helpers/until.ts'
import { acquireOf, newFingerprint, settleOf } from './requests.ts'

const HEAD = { status: 200, headers: ['content-type', 'text/event-stream', 'x-a', '1', 'x-a', '2'] }
const SOME = 1_000_000

async function acquired(store: Store, more: Partial<AcquireRequest> = {}): Promise<AcquireRequest> {
  const request = acquireOf(newFingerprint(), more)
  await store.acquire(request)
  return request
}

function appendOf({ fingerprint, executionId }: AcquireRequest, offset: number, chunk: string | Buffer): AppendRequest {
  return { fingerprint, executionId, offset, chunk: Buffer.from(chunk as string), ...(offset === 0 ? { head: HEAD } : {}) }
}

function read(store: Store, { fingerprint, executionId }: AcquireRequest, offset = 0, maxBytes = SOME): Promise<LogReading> {
  return store.readLog({ fingerprint, executionId, offset, maxBytes })
}

function settleLogged(request: AcquireRequest, whole: Buffer, logged: number, more: Partial<SettleRequest> = {}): SettleRequest {
  const bodyHash = createHash('sha256').update(whole).digest('hex')
  const head = { ...HEAD, bodyHash, bodyBytes: whole.length, bodyStored: true }
  return settleOf(request, 'completed', { response: { head, body: whole.subarray(logged) }, logged, ...more })
}

function textOf(reading: LogReading): string {
  return reading.kind === 'gone' ? 'gone' : reading.bytes.toString()
}

export async function logs(t: Test, store: Store, peer: Store): Promise<void> {
  t.test('G12: what was appended is read from any offset by any gateway, with the head', async (t) => {
    const request = await acquired(store)
    t.match(await read(peer, request), { kind: 'open', head: undefined })
    t.equal(await store.append(appendOf(request, 0, '')), 'ok')
    t.match(await read(peer, request), { kind: 'open', head: HEAD, bytes: Buffer.alloc(0) })
    t.equal(await store.append(appendOf(request, 0, 'one ')), 'ok')
    t.equal(await store.append(appendOf(request, 4, 'two ')), 'ok')
    t.equal(await store.append(appendOf(request, 8, 'three')), 'ok')
    const reading = await read(peer, request)
    t.match(reading, { kind: 'open', head: HEAD })
    t.ok(reading.kind === 'open' && reading.leaseLeft > 0)
    t.equal(textOf(reading), 'one two three')
    for (let offset = 0; offset <= 13; offset++) {
      t.equal(textOf(await read(peer, request, offset)), 'one two three'.slice(offset))
      const little = await read(peer, request, offset, 3)
      t.ok(little.kind === 'open' && (offset === 13 ? little.bytes.length === 0 : little.bytes.length > 0))
      t.ok('one two three'.slice(offset).startsWith(textOf(little)))
    }
    t.match(await store.acquire({ ...acquireOf(request.fingerprint) }), { kind: 'in_flight' }, 'a log is no result')
  })

  t.test('G12: a piece sent twice is there once, one without its predecessor is refused', async (t) => {
    const request = await acquired(store)
    t.equal(await store.append(appendOf(request, 4, 'two')), 'stale')
    t.equal(await store.append(appendOf(request, 0, 'one ')), 'ok')
    t.equal(await store.append(appendOf(request, 0, 'one ')), 'ok')
    t.equal(await store.append(appendOf(request, 4, 'two')), 'ok')
    t.equal(await store.append(appendOf(request, 4, 'two')), 'ok')
    t.equal(await store.append(appendOf(request, 9, 'four')), 'stale')
    t.equal(textOf(await read(peer, request)), 'one two')
  })

  t.test('G12: pieces of any sizes, each sent twice, make one log, read from any offset while it grows', async (t) => {
    const request = await acquired(store)
    const whole = randomBytes(150_000)
    let at = 0
    for (const size of [1, 84, 300, 4011, 4096, 1, 70_000, 90, 65_520, 17, 4000, 100, 1780]) {
      const append = appendOf(request, at, whole.subarray(at, at + size))
      t.equal(await store.append(append), 'ok')
      t.equal(await store.append(append), 'ok')
      for (const offset of [0, at >> 1, at - 1, at, at + (size >> 1), at + size - 1].filter((each) => each >= 0)) {
        const reading = await read(peer, request, offset)
        t.ok(reading.kind === 'open' && reading.bytes.equals(whole.subarray(offset, at + size)), `${offset} of ${at + size}`)
      }
      at += size
    }
    t.equal(at, whole.length)
    t.equal(await store.settle(settleLogged(request, whole, at)), 'ok')
    const reading = await read(peer, request)
    t.ok(reading.kind === 'closed' && reading.bytes.equals(whole))
  })

  t.test('G12: only the running execution appends, and only its own log is read', async (t) => {
    const request = await acquired(store, { onUnknown: 'retry' })
    await store.append(appendOf(request, 0, 'of the first'))
    t.equal(await peer.append({ ...appendOf(request, 0, 'x'), executionId: 'another' }), 'stale')
    t.equal(textOf(await read(store, { ...request, executionId: 'another' })), 'gone')
    await store.settle(settleOf(request, 'unknown'))
    t.match(await read(peer, request), { kind: 'gone', record: { status: 'unknown' } }, 'no part of an answer is a result')
    t.equal(await store.append(appendOf(request, 12, 'x')), 'stale')
    const second = acquireOf(request.fingerprint, { onUnknown: 'retry' })
    t.match(await store.acquire(second), { kind: 'acquired', attempt: 2 })
    t.match(await read(peer, second), { kind: 'open', head: undefined })
    t.equal(await store.append(appendOf(request, 12, 'x')), 'stale')
    t.equal(await store.append(appendOf(second, 0, 'of the second')), 'ok')
    t.equal(textOf(await read(peer, request)), 'gone')
    t.equal(textOf(await read(peer, second)), 'of the second')
  })

  for (const size of [10, INLINE_BYTES, INLINE_BYTES + 1, 1_000_000]) {
    t.test(`G12: settling closes a log of ${size} bytes: whole, exact, and by its size with the claim or by pieces`, async (t) => {
      const whole = randomBytes(size)
      const request = await acquired(store)
      const cut = [0, Math.floor(size / 3), Math.floor(size / 2), size - 2]
      for (let n = 0; n < 3; n++) await store.append(appendOf(request, cut[n]!, whole.subarray(cut[n], cut[n + 1])))
      t.equal(await store.settle(settleLogged(request, whole, size - 2)), 'ok')
      t.equal(await store.settle(settleLogged(request, whole, size - 2)), 'ok', 'sent twice')
      const claim = await peer.acquire(acquireOf(request.fingerprint))
      if (claim.kind !== 'completed') return t.fail(claim.kind)
      t.same(claim.response.head, {
        ...HEAD,
        bodyHash: createHash('sha256').update(whole).digest('hex'),
        bodyBytes: size,
        bodyStored: true,
      })
      t.equal(claim.response.body === undefined, size > INLINE_BYTES)
      if (claim.response.body !== undefined) t.ok(claim.response.body.equals(whole))
      const pieces: Buffer[] = []
      for (let offset = 0; offset < size;) {
        const reading = await read(peer, request, offset, 65_536)
        if (reading.kind !== 'closed' || reading.bytes.length === 0) return t.fail(`${reading.kind} at ${offset}`)
        pieces.push(reading.bytes)
        offset += reading.bytes.length
      }
      t.ok(Buffer.concat(pieces).equals(whole))
      t.match(await read(peer, request, size), { kind: 'closed', bytes: Buffer.alloc(0) })
      t.equal((await peer.readResponse(request.fingerprint))?.body === undefined, size > INLINE_BYTES)
    })
  }

  t.test('G12: an answer that was never appended is read like a closed log', async (t) => {
    const request = await acquired(store)
    await store.settle(settleOf(request, 'completed'))
    t.match(await read(peer, request), { kind: 'closed', bytes: Buffer.from('done') })
    t.equal(textOf(await read(peer, request, 2)), 'ne')
  })

  t.test('G12: a log of which a piece is missing makes no body, whatever the settling says', async (t) => {
    const request = await acquired(store)
    await store.append(appendOf(request, 0, 'half '))
    await store.settle(settleLogged(request, Buffer.from('half and half'), 9))
    const claim = await peer.acquire(acquireOf(request.fingerprint))
    t.match(claim, { kind: 'completed', response: { head: { bodyStored: false, bodyBytes: 13 } } })
    t.match(await read(peer, request), { kind: 'gone', record: { status: 'completed' } })
  })

  t.test('G12: an answer over its limit drops its log and says so; the record runs on', async (t) => {
    const request = await acquired(store)
    await store.append(appendOf(request, 0, 'much'))
    const overflow = { ...appendOf(request, 4, ''), overflow: true }
    t.equal(await store.append(overflow), 'ok')
    t.equal(await store.append(overflow), 'ok')
    t.equal(await store.append(appendOf(request, 4, 'more')), 'stale')
    t.match(await read(peer, request), { kind: 'gone', record: { status: 'processing' } })
    const settling = settleLogged(request, Buffer.from('much more'), 4)
    t.equal(await store.settle(settling), 'ok')
    t.match(await peer.acquire(acquireOf(request.fingerprint)), { kind: 'completed', response: { head: { bodyStored: false } } })
  })

  t.test('G12: a lapsed lease ends the reading, and a late end completes the log', async (t) => {
    const request = await acquired(store, { leaseMs: 60 })
    await store.append(appendOf(request, 0, 'one '))
    await until('the lease has lapsed', async () => (await read(peer, request)).kind === 'gone')
    t.match(await read(peer, request), { kind: 'gone', record: { status: 'unknown' } })
    t.equal(await store.append(appendOf(request, 4, 'two ')), 'ok', 'nobody else was granted')
    t.equal(await store.settle(settleLogged(request, Buffer.from('one two three'), 8)), 'ok')
    t.equal(textOf(await read(peer, request)), 'one two three')
  })

  t.test('G12: a watcher is called after each piece', async (t) => {
    const request = await acquired(store)
    let calls = 0
    const unwatch = await peer.watch(request.fingerprint, () => calls++)
    t.teardown(unwatch)
    for (const [n, piece] of ['a', 'b', 'c'].entries()) {
      const before = calls
      await store.append(appendOf(request, n, piece))
      await until(`call ${n}`, () => calls > before)
    }
    t.equal(textOf(await read(peer, request)), 'abc')
  })

  t.test('a failure that is replayed may have been appended, too', async (t) => {
    const request = await acquired(store)
    await store.append(appendOf(request, 0, 'no'))
    await store.settle({ ...settleLogged(request, Buffer.from('no.'), 2), to: 'failed' })
    const claim = await peer.acquire(acquireOf(request.fingerprint, { onFailed: 'replay' }))
    t.match(claim, { kind: 'failed', response: { body: Buffer.from('no.') } })
  })

  t.test('a new generation reads nothing of the earlier one', async (t) => {
    const request = await acquired(store)
    const whole = randomBytes(INLINE_BYTES + 10)
    await store.append(appendOf(request, 0, whole))
    await store.settle(settleLogged(request, whole, whole.length))
    const next = acquireOf(request.fingerprint, { onCompleted: 'execute' })
    t.match(await peer.acquire(next), { kind: 'acquired', after: 'completed' })
    t.equal(textOf(await read(store, request)), 'gone')
    t.match(await read(store, next), { kind: 'open', head: undefined })
    t.equal(await peer.append(appendOf(next, 0, 'new')), 'ok')
    t.equal(textOf(await read(store, next)), 'new')
  })

  t.test('whoever runs an execution learns at its renewal that it shall be given up', async (t) => {
    const request = await acquired(store)
    const renewal = { fingerprint: request.fingerprint, executionId: request.executionId, leaseMs: 30_000, ttlMs: 60_000 }
    t.equal(await store.renew(renewal), 'ok')
    t.equal(await peer.cancel({ ...request, executionId: 'another' }), 'stale')
    t.equal(await store.renew(renewal), 'ok')
    t.equal(await peer.cancel(request), 'ok')
    t.equal(await store.renew(renewal), 'cancelled')
    await store.settle(settleOf(request, 'unknown'))
    t.equal(await peer.cancel(request), 'stale')
    const next = acquireOf(request.fingerprint, { onUnknown: 'retry' })
    await store.acquire(next)
    t.equal(await store.renew({ ...renewal, executionId: next.executionId }), 'ok', 'the next one is not meant')
  })
}
