// G14: what a completed record leaves behind when its time is over. A part of the contract suite.
import type { Test } from 'tap'
import type { AcquireRequest, Store } from '../../src/stores/store.ts'
import { until } from '../helpers/until.ts'
import { acquireOf, inGroup, newFingerprint, newGroup, renewOf, responseOf, settleOf } from './requests.ts'

const SHORT_MS = 60
const LONG_MS = 60_000

function asking(fingerprint: string, more: Partial<AcquireRequest> = {}): AcquireRequest {
  return acquireOf(fingerprint, { tombstone: true, ...more })
}

export async function tombstones(t: Test, store: Store, peer: Store): Promise<void> {
  /** A record that was settled so, and whose time is over. */
  async function over(to: 'completed' | 'failed' | 'unknown', tombstoneMs: number, more: Partial<AcquireRequest> = {}) {
    const request = asking(newFingerprint(), { digestFields: 'fields of the first', ttlMs: 1, leaseMs: SHORT_MS, ...more })
    await store.acquire(request)
    const before = await store.read(request.fingerprint)
    const response = responseOf('a result', [], 201)
    const settle = settleOf(request, to, { response, tombstoneMs, keepAtLeastMs: SHORT_MS })
    t.equal(await store.settle(settle), 'ok')
    const settled = await store.read(request.fingerprint)
    t.match(settled, { status: to })
    await until('it is over', async () => (await store.read(request.fingerprint))?.status !== to)
    return { request, before, settled, settle }
  }

  t.test('G14: after its end a completed record refuses, and tells of its answer without having it', async (t) => {
    const { request, before, settled, settle } = await over('completed', LONG_MS)
    const { fingerprint, executionId } = request
    const { head } = responseOf('a result', [], 201)
    const record = { fingerprint, status: 'expired', attempt: 1, executionId, rule: 'pay', owner: 'owner-1', leaseLeft: 0 }
    const left = { ...record, response: { status: 201, bodyHash: head.bodyHash, bodyStored: false } }
    t.match(await peer.acquire(asking(fingerprint)), { kind: 'expired', record: left })
    t.match(await peer.read(fingerprint), left)
    t.equal((await peer.read(fingerprint))?.createdAt, before?.createdAt)
    t.equal((await peer.read(fingerprint))?.expiresAt, (settled?.expiresAt ?? 0) + LONG_MS)
    t.equal(await peer.readResponse(fingerprint), undefined)
    t.match(await peer.readLog({ fingerprint, executionId, offset: 0, maxBytes: 10 }), { kind: 'gone' })
    t.match(await peer.acquire(asking(fingerprint, { digest: 'other' })), { kind: 'key_reused', digestFields: 'fields of the first' })
    t.match(await peer.acquire(request), { kind: 'expired' }, 'G2: a late copy is granted nothing')
    t.equal(await peer.settle(settle), 'stale')
    t.equal(await peer.renew(renewOf(request)), 'stale')
    t.match(await store.read(fingerprint), { status: 'expired' })
  })

  t.test('G14: when that is over, too, it executes as if for the first time', async (t) => {
    const { request } = await over('completed', 300)
    t.match(await peer.acquire(asking(request.fingerprint)), { kind: 'expired' })
    await until('the tombstone is over', async () => (await peer.read(request.fingerprint)) === undefined)
    t.same(await peer.acquire(asking(request.fingerprint)), {
      kind: 'acquired',
      fingerprint: request.fingerprint,
      attempt: 1,
      after: 'none',
    })
  })

  t.test('G14: without a tombstone, and of whatever did not complete, nothing is left', async (t) => {
    for (const to of ['failed', 'unknown'] as const) {
      const { request } = await over(to, LONG_MS)
      t.equal(await store.read(request.fingerprint), undefined, to)
      t.match(await peer.acquire(asking(request.fingerprint)), { kind: 'acquired', attempt: 1 })
    }
  })

  t.test('G10: a new generation begins over a tombstone as over a result, and leaves its own', async (t) => {
    const { request } = await over('completed', LONG_MS)
    const anew = asking(request.fingerprint, { onCompleted: 'execute', ttlMs: 1, leaseMs: SHORT_MS })
    const granted = { kind: 'acquired', fingerprint: request.fingerprint, attempt: 2, after: 'completed' }
    t.same(await peer.acquire(anew), granted)
    t.same(await peer.acquire(anew), granted, 'G2: its own echo')
    t.match(await store.read(request.fingerprint), { status: 'processing', attempt: 2, duplicates: 0 })
    await peer.settle(settleOf(anew, 'failed', { ttlMs: 1, keepAtLeastMs: SHORT_MS }))
    await until('it is over', async () => (await store.read(request.fingerprint)) === undefined)
    t.match(await store.acquire(asking(request.fingerprint)), { kind: 'acquired', attempt: 1 })
  })

  t.test('G10: nor is the tombstone of an earlier generation that of a later one', async (t) => {
    const first = asking(newFingerprint())
    await store.acquire(first)
    await store.settle(settleOf(first, 'completed', { tombstoneMs: LONG_MS }))
    const anew = asking(first.fingerprint, { onCompleted: 'execute', ttlMs: 1, leaseMs: SHORT_MS })
    t.match(await peer.acquire(anew), { kind: 'acquired', attempt: 2 })
    await peer.settle(settleOf(anew, 'failed', { keepAtLeastMs: SHORT_MS }))
    await until('it is over', async () => (await store.read(first.fingerprint)) === undefined)
    t.match(await store.acquire(asking(first.fingerprint)), { kind: 'acquired', attempt: 1 })
  })

  t.test('G11: a tombstone under an alias refuses', async (t) => {
    const { request } = await over('completed', LONG_MS)
    const { fingerprint } = request
    t.match(await peer.acquire(asking(newFingerprint(fingerprint), { aliases: [newFingerprint(fingerprint), fingerprint] })), {
      kind: 'expired',
      record: { fingerprint },
    })
  })

  t.test(
    'G13, G14: a tombstone refuses while its group is busy; a new generation waits over it, and leaves it where it gives up',
    async (t) => {
      const group = newGroup()
      const exclusive = { whenBusy: 'wait', placeMs: LONG_MS } as const
      const request = asking(inGroup(group), { exclusive, ttlMs: 1, leaseMs: SHORT_MS })
      const { fingerprint } = request
      await store.acquire(request)
      await store.settle(settleOf(request, 'completed', { tombstoneMs: LONG_MS, keepAtLeastMs: SHORT_MS }))
      await until('it is over', async () => (await store.read(fingerprint))?.status === 'expired')
      await store.acquire(asking(inGroup(group), { exclusive }))
      t.match(await peer.acquire(asking(fingerprint, { exclusive })), { kind: 'expired' })
      const anew = asking(fingerprint, { exclusive, onCompleted: 'execute' })
      t.match(await peer.acquire(anew), { kind: 'pending', record: { attempt: 2 } })
      t.match(await peer.acquire(asking(fingerprint, { exclusive })), { kind: 'in_flight', record: { status: 'pending' } })
      t.equal(await store.settle(settleOf(anew, 'failed')), 'ok')
      t.match(await peer.acquire(asking(fingerprint, { exclusive })), { kind: 'expired' })
    },
  )
}
