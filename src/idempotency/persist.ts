// Store calls that do not give up at the first fault, and the taking back of a claim that nobody will use.
import { setTimeout as pause } from 'node:timers/promises'
import { StoreUnavailable, type SettleRequest, type Store } from '../stores/store.ts'

const FIRST_PAUSE_MS = 20
const LONGEST_PAUSE_MS = 5000

/**
 * Calls the store, again and again while it is out of reach, for `limitMs` at most; the first call is always made.
 * Every verb is safe to repeat (G2, G3, G9). Rejects with StoreUnavailable when the time is over.
 */
export async function persist<T>(call: () => Promise<T>, limitMs: number): Promise<T> {
  const end = performance.now() + limitMs
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || performance.now() + pauseMs > end) throw error
      await pause(pauseMs, undefined, { ref: false })
    }
  }
}

/**
 * Takes back a claim that was asked for but will not be used, since the answer to the acquire never came: the acquire
 * may have been applied, or may still be on its way. Without this it would lapse into an unknown outcome although
 * nothing was ever sent. Looks again after a lease, for an acquire that overtook the first look.
 */
export async function takeBackClaim(store: Store, claim: Omit<SettleRequest, 'to' | 'response'>): Promise<void> {
  const request: SettleRequest = { ...claim, to: 'failed' }
  const limitMs = Math.max(60_000, 2 * claim.keepAtLeastMs)
  try {
    if ((await persist(() => store.settle(request), limitMs)) === 'ok') return
    await pause(claim.keepAtLeastMs, undefined, { ref: false })
    await persist(() => store.settle(request), limitMs)
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
  }
}
