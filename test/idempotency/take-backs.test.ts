// Claims that nobody will use are taken back, and a store that has no time is not asked the more the more of them there are.
import t from 'tap'
import { type SettleResult, type Store, StoreUnavailable } from '../../src/stores/store.ts'
import { MemoryStore } from '../../src/stores/memory/memory-store.ts'
import { TakeBacks } from '../../src/idempotency/take-backs.ts'
import { acquireOf, newFingerprint } from '../stores/requests.ts'
import { within } from '../helpers/until.ts'

const LEASE_MS = 600
const CLAIMS = 1000

/** A memory store that answers no settle while it is `away`, and counts how many wait for an answer at once. */
function busyStore() {
  const memory = new MemoryStore()
  const seen = { away: true, calls: 0, atOnce: 0, most: 0 }
  const settle = async (...[request]: Parameters<Store['settle']>): Promise<SettleResult> => {
    seen.calls++
    seen.most = Math.max(seen.most, ++seen.atOnce)
    await new Promise((resolve) => setTimeout(resolve, seen.away ? 50 : 1))
    seen.atOnce--
    if (seen.away) throw new StoreUnavailable('settle')
    return memory.settle(request)
  }
  const store = new Proxy<Store>(memory, {
    get: (target, verb: keyof Store) => (verb === 'settle' ? settle : (target[verb].bind(target) as unknown)),
  })
  return { memory, store, seen }
}

t.test('a thousand refused requests while the store has no time: some ask, all are taken back before they lapse', async (t) => {
  const { memory, store, seen } = busyStore()
  t.teardown(() => memory.close())
  const takeBacks = new TakeBacks(store)
  const requests = Array.from({ length: CLAIMS }, () => acquireOf(newFingerprint(), { leaseMs: LEASE_MS }))
  const taken = requests.map(({ fingerprint, executionId, ttlMs }) =>
    takeBacks.takeBack({ fingerprint, executionId, ttlMs, keepAtLeastMs: LEASE_MS }),
  )
  await new Promise((resolve) => setTimeout(resolve, 2 * LEASE_MS))
  t.ok(seen.most <= 64, `${seen.most} waited for the store at once`)
  t.ok(seen.calls < CLAIMS, `${seen.calls} calls to a store that does not answer`)

  // It now does what it was asked to before, and is back.
  for (const request of requests) await memory.acquire(request)
  seen.away = false
  await within('all are taken back', Promise.all(taken), 10_000)
  const records = await Promise.all(requests.map(({ fingerprint }) => memory.read(fingerprint)))
  t.same(new Set(records.map((record) => record?.status)), new Set(['failed']))
})

t.test('a claim that is granted after the first look is found by a later one', async (t) => {
  const { memory, store, seen } = busyStore()
  t.teardown(() => memory.close())
  seen.away = false
  const request = acquireOf(newFingerprint(), { leaseMs: LEASE_MS })
  const { fingerprint, executionId, ttlMs } = request
  const taken = new TakeBacks(store).takeBack({ fingerprint, executionId, ttlMs, keepAtLeastMs: LEASE_MS })
  await new Promise((resolve) => setTimeout(resolve, 50))
  await memory.acquire(request)
  await within('it is taken back', taken)
  t.equal((await memory.read(fingerprint))?.status, 'failed')
})
