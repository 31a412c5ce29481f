// Stores that break one promise each, for the checker to find out: what a mistake in a script would do.
import type { AcquireRequest, Claim, RenewRequest, SettleRequest, SettleResult, Store } from '../../src/stores/store.ts'

type Verbs = { [Verb in keyof Store]?: Store[Verb] }

export type Plant = (store: Store, setNow: (now: () => number) => void) => Store

/** G3: the settle of whoever comes last counts. */
export const settleWithoutToken: Plant = (store) =>
  over(store, {
    settle: async (request: SettleRequest): Promise<SettleResult> => {
      const record = await store.read(request.fingerprint)
      return store.settle({ ...request, executionId: record?.executionId ?? request.executionId })
    },
  })

/** G6: a lease that has run out is renewed, as if the clock stood where it was granted. */
export const renewLostLease: Plant = (store, setNow) => {
  const grantedAt = new Map<string, number>()
  return over(store, {
    acquire: async (request: AcquireRequest): Promise<Claim> => {
      const claim = await store.acquire(request)
      if (claim.kind === 'acquired') grantedAt.set(request.executionId, Date.now())
      return claim
    },
    renew: async (request: RenewRequest) => {
      const now = Date.now()
      const granted = grantedAt.get(request.executionId) ?? now
      setNow(() => granted)
      // Every verb of the memory store looks at the clock before it first waits.
      const renewed = store.renew({ ...request, leaseMs: request.leaseMs + now - granted })
      setNow(Date.now)
      return renewed
    },
  })
}

/** G1: between the look and the claim there is time for another. */
export const getThenSet: Plant = (store) =>
  over(store, {
    acquire: async (request: AcquireRequest): Promise<Claim> => {
      const found = await store.read(request.fingerprint)
      if (found !== undefined) return store.acquire(request)
      await new Promise((resolve) => setTimeout(resolve, 10))
      const claim = await store.acquire(request)
      if (claim.kind !== 'in_flight') return claim
      // Set, whatever is there by now.
      await reopen(store, request.fingerprint)
      await store.acquire(request)
      return { kind: 'acquired', fingerprint: request.fingerprint, attempt: 1, after: 'none' }
    },
  })

/** G6: a lease ends long before its time. */
export const dropLeaseEarly: Plant = (store) =>
  over(store, {
    acquire: (request: AcquireRequest) => store.acquire({ ...request, leaseMs: request.leaseMs / 15 }),
    renew: (request: RenewRequest) => store.renew({ ...request, leaseMs: request.leaseMs / 15 }),
  })

/** G8: what was settled is gone again, as with a server that acknowledges before it writes. */
export const forgetSettled: Plant = (store) => {
  let settled = 0
  return over(store, {
    settle: async (request: SettleRequest): Promise<SettleResult> => (++settled % 10 === 0 ? 'ok' : store.settle(request)),
  })
}

/** G12: the bytes of the log are not those that were appended. */
export const loseAPiece: Plant = (store) => {
  let appended = 0
  return over(store, {
    append: (request) => store.append(++appended % 3 === 0 ? { ...request, chunk: Buffer.alloc(request.chunk.length, '?') } : request),
  })
}

/** Of whose record: a digest that is not compared. */
export const compareNoDigest: Plant = (store) =>
  over(store, { acquire: (request: AcquireRequest) => store.acquire({ ...request, digest: 'any' }) })

/** A running record is made one that may be granted again: failed, by its own execution. */
async function reopen(store: Store, fingerprint: string): Promise<void> {
  const record = await store.read(fingerprint)
  if (record === undefined) return
  const { executionId } = record
  await store.settle({ fingerprint, executionId, to: 'failed', ttlMs: 60_000, keepAtLeastMs: 60_000 })
}

function over(store: Store, verbs: Verbs): Store {
  return new Proxy(store, {
    get: (target, verb: keyof Store) => verbs[verb] ?? bound(target, verb),
  })
}

/** Undefined for what is no verb: a store is awaited, too. */
export function bound(store: Store, verb: keyof Store): unknown {
  const call: unknown = store[verb]
  return typeof call === 'function' ? (call.bind(store) as unknown) : undefined
}
