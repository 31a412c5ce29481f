// G7: a sweep removes what is over, and nothing else. For the stores that sweep by themselves.
import type { Test } from 'tap'
import type { Store } from '../../src/stores/store.ts'
import { acquireOf, inGroup, newFingerprint, newGroup, renewOf, settleOf } from './requests.ts'

const TTL_MS = 1000
const LEASE_MS = 4000

/** `passMs` lets so much time pass, and the sweep look at least once after it. */
export async function neverSwept(t: Test, { store, passMs }: { store: Store; passMs: (ms: number) => Promise<void> }): Promise<void> {
  const short = { ttlMs: TTL_MS, leaseMs: LEASE_MS }
  const group = newGroup()
  const exclusive = { whenBusy: 'wait', placeMs: LEASE_MS } as const
  const running = acquireOf(newFingerprint(), short)
  const lapsing = acquireOf(newFingerprint(), { ...short, leaseMs: TTL_MS / 2, ttlMs: LEASE_MS })
  const unknown = acquireOf(newFingerprint(), { ...short, ttlMs: LEASE_MS })
  const done = acquireOf(newFingerprint(), short)
  const holder = acquireOf(inGroup(group), { ...short, exclusive })
  const waiting = acquireOf(inGroup(group), { ...short, exclusive })
  for (const request of [running, lapsing, unknown, done, holder, waiting]) await store.acquire(request)
  await store.settle(settleOf(unknown, 'unknown', { keepAtLeastMs: 1 }))
  await store.settle(settleOf(done, 'completed', { keepAtLeastMs: 1 }))
  await passMs(TTL_MS + 200)
  const statusOf = async ({ fingerprint }: { fingerprint: string }) => (await store.read(fingerprint))?.status
  t.equal(await statusOf(done), undefined, 'what is over goes')
  t.equal(await statusOf(running), 'processing')
  t.equal(await statusOf(lapsing), 'unknown', 'its lease has run out, its time has not')
  t.equal(await statusOf(unknown), 'unknown')
  t.equal(await statusOf(holder), 'processing')
  t.equal(await statusOf(waiting), 'pending')
  t.equal(await store.renew(renewOf(running)), 'ok')
  t.equal(await store.settle(settleOf(lapsing, 'completed')), 'ok')
  t.equal((await store.acquire(waiting)).kind, 'pending', 'the group is still held')
  await store.settle(settleOf(holder, 'completed'))
  t.equal((await store.acquire(waiting)).kind, 'acquired')
}
