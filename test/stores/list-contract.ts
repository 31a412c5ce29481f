// Listing and removing, G15 and G16 of src/stores/store.ts, as a part of the suite that every store runs.
import type { Test } from 'tap'
import type { RecordView } from '../../src/model/record.ts'
import type { Store } from '../../src/stores/store.ts'
import { until } from '../helpers/until.ts'
import { acquireOf, inGroup, newFingerprint, newGroup, responseOf, settleOf } from './requests.ts'

const MOST_STEPS = 2000

/** Every record that a listing comes upon, by name; `onStep` is told after each step. */
async function listing(store: Store, limit: number, onStep?: (step: number, found: number) => Promise<void>) {
  const found = new Map<string, RecordView>()
  let cursor: string | undefined
  for (let step = 1; step <= MOST_STEPS; step++) {
    const page = await store.list({ cursor, limit })
    for (const record of page.records) found.set(record.fingerprint, record)
    await onStep?.(step, page.records.length)
    cursor = page.cursor
    if (cursor === undefined) return found
  }
  throw new Error(`the listing has no end after ${MOST_STEPS} steps`)
}

export async function lists(t: Test, store: Store, peer: Store): Promise<void> {
  t.test('G15: a listing comes upon every record, as a reading of it would be, in steps of a bounded size', async (t) => {
    const requests = Array.from({ length: 60 }, (_, n) => acquireOf(newFingerprint(), { rule: `rule-${n % 3}`, owner: `owner-${n % 2}` }))
    await Promise.all(requests.map((request) => store.acquire(request)))
    const ends = ['completed', 'failed', 'unknown'] as const
    await Promise.all(requests.map(async (r, n) => n % 4 === 3 || (await store.settle(settleOf(r, ends[n % 4] ?? 'failed')))))
    let steps = 0
    const found = await listing(peer, 10, async (step, size) => {
      steps = step
      t.ok(size <= 50, `${size} records in a step of about 10`)
    })
    t.ok(steps > 3, `${steps} steps`)
    for (const { fingerprint } of requests) {
      const read = await store.read(fingerprint)
      const settled = { readAt: 0, leaseLeft: 0 }
      t.same({ ...found.get(fingerprint), ...settled }, { ...read, ...settled })
    }
  })

  t.test('G15: what lives from its first step to its last is found, whatever comes and goes meanwhile', async (t) => {
    const requests = Array.from({ length: 40 }, () => acquireOf(newFingerprint()))
    await Promise.all(requests.map((request) => store.acquire(request)))
    await Promise.all(requests.map((request) => store.settle(settleOf(request, 'completed'))))
    const [kept, removed] = [requests.slice(0, 20), requests.slice(20)]
    const found = await listing(store, 7, async (step) => {
      // Whatever comes ahead of it makes the listing longer.
      if (step < 50) await peer.acquire(acquireOf(newFingerprint()))
      const goes = removed[step]
      if (goes !== undefined) await peer.remove(goes)
    })
    for (const { fingerprint } of kept) t.ok(found.has(fingerprint), fingerprint)
  })

  t.test('G15: a step that looks at one record comes on, too', async (t) => {
    const cursors = new Set<string | undefined>()
    for (let cursor: string | undefined, step = 0; step < 5; step++) {
      cursor = (await store.list({ cursor, limit: 1 })).cursor
      cursors.add(cursor)
    }
    t.equal(cursors.size, 5)
  })

  t.test('an expired record is in no listing', async (t) => {
    const request = acquireOf(newFingerprint(), { ttlMs: 1, leaseMs: 1 })
    await store.acquire(request)
    await until('it is gone', async () => (await store.read(request.fingerprint)) === undefined)
    t.notOk((await listing(store, 100)).has(request.fingerprint))
  })

  t.test('a listing tells of a lapsed lease as a reading does', async (t) => {
    const request = acquireOf(newFingerprint(), { leaseMs: 20 })
    await store.acquire(request)
    await until('the lease runs out', async () => (await store.read(request.fingerprint))?.status === 'unknown')
    t.match((await listing(peer, 100)).get(request.fingerprint), { status: 'unknown', leaseLeft: 0 })
  })
}

export async function removals(t: Test, store: Store, peer: Store): Promise<void> {
  for (const to of ['completed', 'failed', 'unknown'] as const) {
    t.test(`G16: a ${to} record is removed with all that is of it, and what comes then is the first`, async (t) => {
      const request = acquireOf(newFingerprint())
      await store.acquire(request)
      const head = { status: 200, headers: [] }
      await store.append({ ...request, offset: 0, chunk: Buffer.alloc(100_000), head })
      await store.settle(settleOf(request, to, { response: responseOf('the end'), logged: to === 'completed' ? 100_000 : 0 }))
      t.equal(await peer.remove(request), 'ok')
      t.equal(await store.read(request.fingerprint), undefined)
      t.equal(await store.readResponse(request.fingerprint), undefined)
      t.match(await store.readLog({ ...request, offset: 0, maxBytes: 10 }), { kind: 'gone', record: undefined })
      t.equal(await store.remove(request), 'stale', 'there is none any more')
      t.equal(await store.settle(settleOf(request, 'completed')), 'stale')
      const next = acquireOf(request.fingerprint, { digest: 'another', rule: 'other' })
      t.match(await store.acquire(next), { kind: 'acquired', attempt: 1, after: 'none' })
      t.match(await store.read(request.fingerprint), { rule: 'other', duplicates: 0, executionId: next.executionId })
      await store.settle(settleOf(next, 'completed'))
      t.equal((await store.readResponse(request.fingerprint))?.body?.toString(), 'done')
    })
  }

  t.test('G16: what runs is not removed; once its lease has lapsed, it is', async (t) => {
    const request = acquireOf(newFingerprint(), { leaseMs: 300 })
    await store.acquire(request)
    t.equal(await peer.remove(request), 'stale')
    t.match(await store.read(request.fingerprint), { status: 'processing', attempt: 1 })
    await until('the lease runs out', async () => (await store.read(request.fingerprint))?.status === 'unknown')
    t.equal(await peer.remove(request), 'ok')
    t.equal(await store.read(request.fingerprint), undefined)
    t.equal(await store.settle(settleOf(request, 'completed')), 'stale', 'its late answer finds nothing')
  })

  t.test('G16: a record is not removed under an execution that it was seen with before', async (t) => {
    const seen = acquireOf(newFingerprint())
    await store.acquire(seen)
    await store.settle(settleOf(seen, 'failed'))
    const later = acquireOf(seen.fingerprint)
    await store.acquire(later)
    t.equal(await peer.remove(seen), 'stale')
    await store.settle(settleOf(later, 'completed'))
    t.equal(await peer.remove(seen), 'stale')
    t.match(await store.read(seen.fingerprint), { status: 'completed', attempt: 2 })
    t.equal(await peer.remove({ fingerprint: newFingerprint(), executionId: seen.executionId }), 'stale')
  })

  t.test('G16: a record that waits for its group is not removed, also where it was something before', async (t) => {
    const group = newGroup()
    const exclusive = { whenBusy: 'wait', placeMs: 5000 } as const
    const [before, holder] = [acquireOf(inGroup(group), { exclusive }), acquireOf(inGroup(group), { exclusive })]
    await store.acquire(before)
    await store.settle(settleOf(before, 'failed'))
    await store.acquire(holder)
    const waiting = acquireOf(inGroup(group), { exclusive })
    const again = acquireOf(before.fingerprint, { exclusive })
    for (const request of [waiting, again]) t.equal((await store.acquire(request)).kind, 'pending')
    for (const request of [waiting, again, before]) t.equal(await peer.remove(request), 'stale')
    t.ok(
      [...(await listing(peer, 100)).values()].some(
        ({ fingerprint, status }) => fingerprint === waiting.fingerprint && status === 'pending',
      ),
    )
    await store.settle(settleOf(holder, 'completed'))
    for (const request of [waiting, again]) {
      t.equal((await store.acquire(request)).kind, 'acquired')
      await store.settle(settleOf(request, 'completed'))
      t.equal(await peer.remove(request), 'ok')
    }
  })

  t.test('G16: a tombstone is removed, too, before its record is over and after', async (t) => {
    const tombstone = { tombstone: true, ttlMs: 1 } as const
    for (const over of [false, true]) {
      const request = acquireOf(newFingerprint(), tombstone)
      await store.acquire(request)
      await store.settle(settleOf(request, 'completed', { keepAtLeastMs: over ? 30 : 60_000, tombstoneMs: 60_000 }))
      if (over) await until('its result is over', async () => (await store.read(request.fingerprint))?.status === 'expired')
      t.equal(await peer.remove({ ...request, executionId: 'another' }), 'stale')
      t.equal(await peer.remove(request), 'ok')
      t.match(await store.acquire(acquireOf(request.fingerprint, tombstone)), { kind: 'acquired', attempt: 1, after: 'none' })
    }
  })
}
