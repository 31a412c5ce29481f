// What is unknown is known: what this gateway did, what it met, and what others left behind.
import t, { type Test } from 'tap'
import { Census } from '../../src/idempotency/census.ts'
import { MeasuredStore } from '../../src/stores/measured-store.ts'
import type { AcquireRequest, Claim, ExecutionName, SettleRequest } from '../../src/stores/store.ts'
import { MemoryStore } from '../../src/stores/memory/memory-store.ts'
import { until } from '../helpers/until.ts'
import { acquireOf, newFingerprint, settleOf } from '../stores/requests.ts'

/** A gateway's store, and that of others beside it. */
function scene(t: Test) {
  const others = new MemoryStore()
  const counts: number[] = []
  const census = new Census(others, (count) => counts.push(count))
  const witness = {
    acquired: (request: AcquireRequest, claim: Claim) => census.acquired(request, claim),
    settled: (request: SettleRequest) => census.settled(request),
    removed: ({ fingerprint }: ExecutionName) => census.forget(fingerprint),
  }
  const ours = new MeasuredStore(others, { tell: () => undefined, onFault: () => undefined, witness })
  t.teardown(async () => {
    census.stop()
    await others.close()
  })
  return { census, ours, others, counts }
}

t.test('what this gateway settles as unknown counts at once, until it is resolved, executed again or removed', async (t) => {
  const { census, ours, counts } = scene(t)
  for (const end of ['completed', 'failed', 'removed', 'again'] as const) {
    const request = acquireOf(newFingerprint())
    await ours.acquire(request)
    t.equal(census.count, 0)
    await ours.settle(settleOf(request, 'unknown'))
    t.equal(counts.at(-1), 1)
    if (end === 'removed') await ours.remove(request)
    else if (end === 'again') await ours.acquire(acquireOf(request.fingerprint, { onUnknown: 'retry' }))
    else await ours.settle(settleOf(request, end))
    t.equal(counts.at(-1), 0, end)
  }
})

t.test('what others have left counts once a duplicate has met it, or a pass has come upon it', async (t) => {
  const { census, ours, others } = scene(t)
  const [met, found, lapsed] = [acquireOf(newFingerprint()), acquireOf(newFingerprint()), acquireOf(newFingerprint(), { leaseMs: 1 })]
  for (const request of [met, found]) {
    await others.acquire(request)
    await others.settle(settleOf(request, 'unknown'))
  }
  await others.acquire(lapsed)
  for (let n = 0; n < 250; n++) await others.acquire(acquireOf(newFingerprint(), { leaseMs: 60_000 }))
  t.equal((await ours.acquire(acquireOf(met.fingerprint))).kind, 'unknown')
  t.equal(census.count, 1)
  census.start()
  await until('the first pass is over', () => census.lastPass !== undefined)
  t.equal(census.count, 3)
  t.same(new Set(census.unknown.map(({ fingerprint }) => fingerprint)), new Set([met, found, lapsed].map((r) => r.fingerprint)))
  t.equal(census.lastPass?.records, 253)
  t.equal(census.running.length, 200, 'of what runs it keeps some')
})

t.test('what others resolve is noticed by looking again', async (t) => {
  const { census, ours, others } = scene(t)
  const requests = Array.from({ length: 60 }, () => acquireOf(newFingerprint()))
  for (const request of requests) {
    await ours.acquire(request)
    await ours.settle(settleOf(request, 'unknown'))
  }
  t.equal(census.count, 60)
  for (const request of requests) await others.settle(settleOf(request, 'completed'))
  await census.lookAgain()
  t.equal(census.count, 10, 'fifty at a time')
  await census.lookAgain()
  t.equal(census.count, 0)
})
