// G13: of the facts of one group one is executed at a time. A part of the contract suite.
import type { Test } from 'tap'
import type { AcquireRequest, Claim, Store } from '../../src/stores/store.ts'
import { until, within } from '../helpers/until.ts'
import { acquireOf, inGroup, newGroup, renewOf, responseOf, settleOf } from './requests.ts'

const LEASE_MS = 80
const PLACE_MS = 80
const REFUSE = { whenBusy: 'refuse', placeMs: 30_000 } as const
const WAIT = { whenBusy: 'wait', placeMs: 30_000 } as const

function refusing(group: string, more: Partial<AcquireRequest> = {}): AcquireRequest {
  return acquireOf(inGroup(group), { exclusive: REFUSE, ...more })
}

function waiting(group: string, more: Partial<AcquireRequest> = {}): AcquireRequest {
  return acquireOf(inGroup(group), { exclusive: WAIT, ...more })
}

/** The same fact, asked for by somebody else. */
function another({ fingerprint, exclusive }: AcquireRequest, more: Partial<AcquireRequest> = {}): AcquireRequest {
  return acquireOf(fingerprint, { exclusive, ...more })
}

async function kind(claim: Promise<Claim>): Promise<Claim['kind']> {
  return (await claim).kind
}

export async function exclusive(t: Test, store: Store, peer: Store): Promise<void> {
  await t.test('refusing', (t) => refusals(t, store, peer))
  await t.test('the end of the holder', (t) => ends(t, store, peer))
  await t.test('waiting', (t) => lines(t, store, peer))
  await t.test('places that are given up', (t) => leaving(t, store, peer))
  await t.test('records that were something before', (t) => overlays(t, store, peer))
}

async function refusals(t: Test, store: Store, peer: Store): Promise<void> {
  t.test('G13: of 50 concurrent acquires of as many facts one is acquired, and the others leave no trace', async (t) => {
    const group = newGroup()
    const requests = Array.from({ length: 50 }, () => refusing(group))
    const claims = await Promise.all(requests.map((request, n) => (n % 2 ? store : peer).acquire(request)))
    t.equal(claims.filter(({ kind }) => kind === 'acquired').length, 1)
    t.equal(claims.filter((claim) => claim.kind === 'busy' && claim.heldMs >= 0).length, 49)
    const records = await Promise.all(requests.map(({ fingerprint }) => store.read(fingerprint)))
    t.equal(records.filter((record) => record !== undefined).length, 1)
  })

  t.test('G13: another group is another matter, and so is a fact without one', async (t) => {
    const holder = refusing(newGroup())
    t.equal(await kind(store.acquire(holder)), 'acquired')
    t.equal(await kind(store.acquire(refusing(newGroup()))), 'acquired')
    t.equal(await kind(store.acquire(acquireOf(holder.fingerprint.slice(1)))), 'acquired')
  })

  t.test('G13: what needs no execution is answered while the group is busy', async (t) => {
    const group = newGroup()
    const done = refusing(group)
    await store.acquire(done)
    await store.settle(settleOf(done, 'completed', { response: responseOf('done') }))
    const failed = refusing(group)
    await store.acquire(failed)
    await store.settle(settleOf(failed, 'failed', { response: responseOf('no', [], 500) }))
    const holder = refusing(group)
    t.match(await store.acquire(holder), { kind: 'acquired', attempt: 1 })
    t.match(await peer.acquire(holder), { kind: 'acquired', attempt: 1 }, 'G2: its own echo')
    t.match(await peer.acquire(another(holder)), { kind: 'in_flight', record: { executionId: holder.executionId } })
    t.match(await peer.acquire(another(done)), { kind: 'completed', response: { body: Buffer.from('done') } })
    t.equal(await kind(peer.acquire(another(failed, { onFailed: 'replay' }))), 'failed')
    t.equal(await kind(peer.acquire(another(done, { digest: 'other' }))), 'key_reused')
    t.equal(await kind(peer.acquire(another(failed))), 'busy', 'a further attempt is an execution')
    t.equal(await kind(peer.acquire(another(done, { onCompleted: 'execute' }))), 'busy', 'and so is a new generation')
    t.match(await store.read(failed.fingerprint), { status: 'failed', attempt: 1, response: { status: 500 } })
    t.match(await store.read(done.fingerprint), { status: 'completed', attempt: 1 })
  })
}

async function ends(t: Test, store: Store, peer: Store): Promise<void> {
  t.test('G13: a known end frees the group at once', async (t) => {
    const group = newGroup()
    for (const to of ['completed', 'failed'] as const) {
      const holder = refusing(group)
      t.equal(await kind(store.acquire(holder)), 'acquired', to)
      t.equal(await kind(peer.acquire(refusing(group))), 'busy')
      t.equal(await store.settle(settleOf(holder, to)), 'ok')
    }
    t.equal(await kind(peer.acquire(refusing(group))), 'acquired')
  })

  t.test('G13: an unknown end keeps the group until the lease ends, but not from the same fact', async (t) => {
    const group = newGroup()
    const holder = refusing(group, { leaseMs: 300 })
    await store.acquire(holder)
    await store.settle(settleOf(holder, 'unknown'))
    t.equal(await kind(peer.acquire(refusing(group))), 'busy')
    const again = another(holder, { onUnknown: 'retry', leaseMs: 300 })
    t.match(await peer.acquire(again), { kind: 'acquired', attempt: 2, after: 'unknown' })
    t.equal(await kind(store.acquire(refusing(group))), 'busy', 'it is the later attempt that holds it now')
    await store.settle(settleOf(again, 'unknown'))
    t.equal(await kind(store.acquire(refusing(group))), 'busy')
    await until('the lease ends', async () => (await kind(store.acquire(refusing(group)))) === 'acquired')
  })

  t.test('G13: once it is known after all, the group is free', async (t) => {
    for (const to of ['completed', 'failed'] as const) {
      const group = newGroup()
      const holder = refusing(group)
      await store.acquire(holder)
      await store.settle(settleOf(holder, 'unknown'))
      t.equal(await kind(peer.acquire(refusing(group))), 'busy')
      await peer.settle(settleOf(holder, to))
      t.equal(await kind(peer.acquire(refusing(group))), 'acquired', to)
    }
  })

  t.test('G13: a lapsed lease frees the group, and a late end of the old holder does not free it again', async (t) => {
    const group = newGroup()
    const old = refusing(group, { leaseMs: LEASE_MS })
    await store.acquire(old)
    const holder = refusing(group)
    await until('the lease lapses', async () => (await kind(peer.acquire(holder))) === 'acquired')
    t.equal(await store.renew(renewOf(old)), 'stale')
    t.equal(await store.settle(settleOf(old, 'completed')), 'ok', 'a late answer is the answer of its own record')
    t.equal(await kind(store.acquire(refusing(group))), 'busy')
    t.equal(await store.renew(renewOf(holder)), 'ok')
    await store.settle(settleOf(holder, 'failed'))
    t.equal(await kind(store.acquire(refusing(group))), 'acquired')
  })

  t.test('G13: renewing keeps record and group alike', async (t) => {
    const group = newGroup()
    const holder = refusing(group, { leaseMs: 200 })
    await store.acquire(holder)
    const startedAt = Date.now()
    while (Date.now() < startedAt + 500) {
      t.equal(await store.renew(renewOf(holder)), 'ok')
      t.equal(await kind(peer.acquire(refusing(group))), 'busy')
      await new Promise((resolve) => setTimeout(resolve, 40))
    }
    await store.settle(settleOf(holder, 'completed'))
    t.equal(await kind(peer.acquire(refusing(group))), 'acquired')
  })
}

async function lines(t: Test, store: Store, peer: Store): Promise<void> {
  t.test('G13: who waits is pending, first come first served, whichever gateway asks first', async (t) => {
    const group = newGroup()
    const holder = waiting(group)
    await store.acquire(holder)
    const line = Array.from({ length: 5 }, () => waiting(group))
    for (const [n, request] of line.entries()) {
      const claim = await (n % 2 ? store : peer).acquire(request)
      t.match(claim, { kind: 'pending', record: { status: 'pending', attempt: 1, executionId: request.executionId, duplicates: 0 } })
    }
    t.match(await peer.read(line[0]!.fingerprint), { status: 'pending', attempt: 1, rule: 'pay', owner: 'owner-1', response: undefined })
    let ended = holder
    for (const [n, request] of line.entries()) {
      t.equal(await kind(store.acquire(request)), 'pending', 'the group is still busy')
      await store.settle(settleOf(ended, n % 2 ? 'failed' : 'completed'))
      t.equal(await kind(store.acquire(refusing(group))), 'busy', 'nobody jumps the line')
      for (const later of line.slice(n + 1).toReversed()) t.equal(await kind(peer.acquire(later)), 'pending')
      t.match(await peer.acquire(request), { kind: 'acquired', fingerprint: request.fingerprint, attempt: 1, after: 'none' })
      t.match(await store.read(request.fingerprint), { status: 'processing', attempt: 1, executionId: request.executionId, duplicates: 0 })
      ended = request
    }
    await store.settle(settleOf(ended, 'completed'))
    t.equal(await kind(store.acquire(refusing(group))), 'acquired', 'the line is empty')
  })

  t.test("G13: whose turn it is is called, by any gateway's settling", async (t) => {
    const group = newGroup()
    const [holder, first, second] = [waiting(group), waiting(group), waiting(group)]
    for (const request of [holder, first, second]) await store.acquire(request)
    let calls = 0
    const stopSecond = await peer.watch(second.fingerprint, () => calls++)
    let ring = (): void => undefined
    const called = new Promise<void>((resolve) => (ring = resolve))
    const stop = await peer.watch(first.fingerprint, () => ring())
    await store.settle(settleOf(holder, 'completed'))
    await within('the call', called)
    t.equal(await kind(peer.acquire(first)), 'acquired')
    t.equal(calls, 0, 'nobody else')
    stop()
    stopSecond()
  })

  t.test('G13: a duplicate of a pending fact is one in flight', async (t) => {
    const group = newGroup()
    const holder = waiting(group)
    const first = waiting(group)
    await store.acquire(holder)
    await store.acquire(first)
    t.match(await peer.acquire(another(first)), {
      kind: 'in_flight',
      record: { status: 'pending', executionId: first.executionId, attempt: 1, duplicates: 1 },
    })
    t.equal(await kind(peer.acquire(another(first, { digest: 'other' }))), 'key_reused')
    t.match(await peer.readLog({ ...first, offset: 0, maxBytes: 1 }), { kind: 'gone', record: { status: 'pending' } })
    await store.settle(settleOf(holder, 'completed'))
    t.equal(await kind(peer.acquire(another(first))), 'in_flight', 'also while the group is free')
    t.equal(await kind(peer.acquire(first)), 'acquired')
    t.match(await peer.read(first.fingerprint), { status: 'processing', duplicates: 2 })
  })

  t.test('G13: of 50 concurrent acquires of one fact that has to wait one has the place', async (t) => {
    const group = newGroup()
    await store.acquire(waiting(group))
    const fact = waiting(group)
    const claims = await Promise.all(Array.from({ length: 50 }, (_, n) => kind((n % 2 ? store : peer).acquire(another(fact)))))
    t.equal(claims.filter((each) => each === 'pending').length, 1)
    t.equal(claims.filter((each) => each === 'in_flight').length, 49)
  })

  t.test('G13: what waits cannot be renewed or completed, and nothing can be appended', async (t) => {
    const group = newGroup()
    await store.acquire(waiting(group))
    const request = waiting(group)
    await store.acquire(request)
    t.equal(await store.renew(renewOf(request)), 'stale')
    t.equal(await store.settle(settleOf(request, 'completed')), 'stale')
    t.equal(await store.settle(settleOf(request, 'unknown')), 'stale')
    t.equal(await store.append({ ...request, offset: 0, chunk: Buffer.from('x'), head: { status: 200, headers: [] } }), 'stale')
    t.match(await store.read(request.fingerprint), { status: 'pending' })
    t.equal(await store.readResponse(request.fingerprint), undefined)
  })
}

async function leaving(t: Test, store: Store, peer: Store): Promise<void> {
  t.test('G13: who leaves the line leaves no trace, and the next is called', async (t) => {
    const group = newGroup()
    const [holder, first, second] = [waiting(group), waiting(group), waiting(group)]
    for (const request of [holder, first, second]) await store.acquire(request)
    let rings = 0
    const stop = await store.watch(first.fingerprint, () => rings++)
    t.equal(await peer.settle(settleOf(first, 'failed')), 'ok')
    t.equal(await store.read(first.fingerprint), undefined)
    await until('whoever waits for the fact is told', () => rings > 0)
    stop()
    await store.settle(settleOf(holder, 'completed'))
    t.equal(await kind(peer.acquire(second)), 'acquired')
    t.equal(await kind(peer.acquire(another(first))), 'pending', 'the fact can be asked for again')
  })

  t.test('G13: the next is called also where the group was free for the one that leaves', async (t) => {
    const group = newGroup()
    const [holder, first, second] = [waiting(group), waiting(group), waiting(group)]
    for (const request of [holder, first, second]) await store.acquire(request)
    await store.settle(settleOf(holder, 'completed'))
    let ring = (): void => undefined
    const called = new Promise<void>((resolve) => (ring = resolve))
    const stop = await peer.watch(second.fingerprint, () => ring())
    await store.settle(settleOf(first, 'failed'))
    await within('the call', called)
    stop()
    t.equal(await kind(peer.acquire(second)), 'acquired')
  })

  t.test('G13: who does not ask again is passed over, and the record is gone', async (t) => {
    const group = newGroup()
    const holder = waiting(group)
    const dead = waiting(group, { exclusive: { whenBusy: 'wait', placeMs: PLACE_MS } })
    const next = waiting(group)
    for (const request of [holder, dead, next]) await store.acquire(request)
    await store.settle(settleOf(holder, 'completed'))
    t.equal(await kind(peer.acquire(next)), 'pending', 'the first may still come')
    await until('the first is passed over', async () => (await kind(peer.acquire(next))) === 'acquired')
    await until('its record is gone', async () => (await store.read(dead.fingerprint)) === undefined)
    t.equal(await kind(store.acquire(dead)), 'pending', 'it is a newcomer if it comes after all')
  })

  t.test('G13: who asks again keeps the place for as long as that', async (t) => {
    const group = newGroup()
    const holder = waiting(group)
    const first = waiting(group, { exclusive: { whenBusy: 'wait', placeMs: 200 } })
    const second = waiting(group)
    for (const request of [holder, first, second]) await store.acquire(request)
    const startedAt = Date.now()
    while (Date.now() < startedAt + 500) {
      t.match(await store.acquire(first), { kind: 'pending', record: { status: 'pending', executionId: first.executionId } })
      await new Promise((resolve) => setTimeout(resolve, 30))
    }
    await store.settle(settleOf(holder, 'completed'))
    t.equal(await kind(peer.acquire(second)), 'pending')
    t.equal(await kind(peer.acquire(first)), 'acquired')
  })
}

async function overlays(t: Test, store: Store, peer: Store): Promise<void> {
  /** A record that came to this, and another fact of its group. */
  async function scene(to: 'failed' | 'completed') {
    const group = newGroup()
    const first = waiting(group)
    await store.acquire(first)
    await store.settle(settleOf(first, to, { response: responseOf('first', [], 200) }))
    return { first, holder: waiting(group) }
  }

  t.test('G13: a record that waits is pending; given up it is what it was', async (t) => {
    for (const to of ['failed', 'completed'] as const) {
      const { first, holder } = await scene(to)
      await store.acquire(holder)
      const again = another(first, { onCompleted: 'execute' })
      t.match(await store.acquire(again), { kind: 'pending', record: { status: 'pending', attempt: 2, response: undefined } }, to)
      t.match(await peer.read(first.fingerprint), { status: 'pending', executionId: again.executionId, attempt: 2 })
      t.equal(await kind(peer.acquire(another(first))), 'in_flight', 'what is to be made anew is no answer any more')
      t.equal(await store.settle(settleOf(again, 'failed')), 'ok')
      t.match(await store.read(first.fingerprint), { status: to, attempt: 1, executionId: first.executionId })
      t.equal((await store.readResponse(first.fingerprint))?.body?.toString(), 'first')
      const third = another(first, { onCompleted: 'execute' })
      t.equal(await kind(peer.acquire(third)), 'pending')
      await store.settle(settleOf(holder, 'completed'))
      t.match(await peer.acquire(third), { kind: 'acquired', attempt: 2, after: to })
      t.match(await peer.acquire(third), { kind: 'acquired', attempt: 2, after: to }, 'G2: its own echo')
    }
  })

  t.test('G13: a late answer is the answer of whoever waits to try again', async (t) => {
    const group = newGroup()
    const first = waiting(group, { leaseMs: LEASE_MS })
    await store.acquire(first)
    const holder = waiting(group)
    await until('the lease lapses', async () => (await kind(peer.acquire(holder))) === 'acquired')
    const again = another(first, { onUnknown: 'retry' })
    t.match(await store.acquire(again), { kind: 'pending', record: { attempt: 2 } })
    t.equal(await peer.settle(settleOf(first, 'completed', { response: responseOf('late') })), 'ok')
    t.match(await store.acquire(again), { kind: 'completed', response: { body: Buffer.from('late') } })
    await store.settle(settleOf(holder, 'completed'))
    t.equal(await kind(store.acquire(refusing(group))), 'acquired', 'its place in the line is gone')
  })

  t.test('G13: what is known to have failed meanwhile keeps its place', async (t) => {
    const group = newGroup()
    const first = waiting(group, { leaseMs: LEASE_MS })
    await store.acquire(first)
    const holder = waiting(group)
    await until('the lease lapses', async () => (await kind(peer.acquire(holder))) === 'acquired')
    const again = another(first, { onUnknown: 'retry' })
    t.equal(await kind(store.acquire(again)), 'pending')
    t.equal(await peer.settle(settleOf(first, 'failed')), 'ok')
    t.equal(await kind(store.acquire(again)), 'pending')
    await store.settle(settleOf(holder, 'completed'))
    t.match(await peer.acquire(again), { kind: 'acquired', attempt: 2, after: 'failed' })
  })
}
