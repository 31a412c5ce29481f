import t from 'tap'
import { MemoryStore } from '../../src/stores/memory/memory-store.ts'
import { acquireOf, newFingerprint, renewOf, settleOf } from './requests.ts'
import { neverSwept } from './sweep-contract.ts'
import { storeContract } from './store-contract.ts'

t.test('the memory store keeps the contract', async (t) => {
  await storeContract(t, async () => {
    const store = new MemoryStore()
    return { store, peer: store }
  })
})

t.test('by an injected clock: the lease, its renewal and the end of a record are exact to the millisecond', async (t) => {
  let now = 1_000_000
  const store = new MemoryStore(() => now)
  const request = acquireOf(newFingerprint(), { leaseMs: 100, ttlMs: 1000 })
  await store.acquire(request)
  now += 99
  t.match(await store.read(request.fingerprint), { status: 'processing', leaseLeft: 1 })
  t.equal(await store.renew(renewOf(request)), 'ok')
  now += 99
  t.match(await store.read(request.fingerprint), { status: 'processing', leaseLeft: 1 })
  now += 1
  t.match(await store.read(request.fingerprint), { status: 'unknown', leaseLeft: 0 })
  t.equal(await store.renew(renewOf(request)), 'stale')
  now += 999
  t.match(await store.read(request.fingerprint), { status: 'unknown' })
  t.equal(await store.settle(settleOf(request, 'completed', { keepAtLeastMs: 5 })), 'ok')
  now += 4
  t.match(await store.read(request.fingerprint), { status: 'completed' })
  now += 1
  t.equal(await store.read(request.fingerprint), undefined)
  await store.close()
})

t.test('what is in flight or waits, and an outcome that is unknown, is never swept', async (t) => {
  let now = 1_000_000
  const store = new MemoryStore(() => now)
  t.teardown(() => store.close())
  await neverSwept(t, {
    store,
    passMs: async (ms) => {
      now += ms
      // The sweep looks once a second.
      await new Promise((resolve) => setTimeout(resolve, 1100))
    },
  })
})
