// Renews an execution's lease while it runs, at a third of its length.
import { StoreUnavailable, type RenewRequest, type Store } from '../stores/store.ts'

/**
 * Renews until the returned function is called. A renewal that the store did not answer is tried again at the next
 * turn; one that comes too late tells `onLost`, once, and ends the renewing: the execution may no longer be the latest.
 */
export function keepLease(store: Store, lease: RenewRequest, onLost: () => void): () => void {
  let running = false
  const timer = setInterval(() => {
    if (!running) void renew()
  }, lease.leaseMs / 3)

  async function renew(): Promise<void> {
    running = true
    try {
      if ((await store.renew(lease)) === 'stale') {
        clearInterval(timer)
        onLost()
      }
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
    } finally {
      running = false
    }
  }

  return () => clearInterval(timer)
}
