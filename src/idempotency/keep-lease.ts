// Renews an execution's lease while it runs, at a third of its length.
import { StoreUnavailable, type RenewRequest, type Store } from '../stores/store.ts'

export interface LeaseEvents {
  readonly onLost: () => void
  /** The owner has asked, wherever, that the execution be given up. May be told more than once. */
  readonly onCancelled: () => void
}

/**
 * Renews until the returned function is called. A renewal that the store did not answer is tried again at the next
 * turn; one that comes too late tells `onLost`, once, and ends the renewing: the execution may no longer be the latest.
 */
export function keepLease(store: Store, lease: RenewRequest, { onLost, onCancelled }: LeaseEvents): () => void {
  let running = false
  const timer = setInterval(() => {
    if (!running) void renew()
  }, lease.leaseMs / 3)

  async function renew(): Promise<void> {
    running = true
    try {
      const renewed = await store.renew(lease)
      if (renewed === 'cancelled') onCancelled()
      if (renewed !== 'stale') return
      clearInterval(timer)
      onLost()
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
    } finally {
      running = false
    }
  }

  return () => clearInterval(timer)
}
