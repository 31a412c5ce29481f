// Store calls that do not give up at the first fault, and the taking back of a claim that nobody will use.
import { setTimeout as pause } from 'node:timers/promises'
import { StoreUnavailable, type SettleRequest, type Store } from '../stores/store.ts'

const FIRST_PAUSE_MS = 20
const LONGEST_PAUSE_MS = 5000
/** No pause is longer than this part of the time there is: a store that comes back in time is met in time. */
const PAUSE_SHARE = 10

/**
 * Calls the store, again and again while it is out of reach, for `limitMs` at most; the first call is always made.
 * Every verb is safe to repeat (G2, G3, G9). Rejects with StoreUnavailable when the time is over.
 */
export async function persist<T>(call: () => Promise<T>, limitMs: number, longestPauseMs = limitMs / PAUSE_SHARE): Promise<T> {
  const end = performance.now() + limitMs
  const longest = Math.min(longestPauseMs, LONGEST_PAUSE_MS)
  let pauseMs = Math.min(FIRST_PAUSE_MS, longest)
  for (let tries = 1; ; tries++) {
    try {
      // The first call has the store's own limit; a further one has only what is left.
      return await (tries === 1 ? call() : withinMs(end - performance.now(), call()))
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || performance.now() + pauseMs > end) throw error
      await pause(pauseMs, undefined, { ref: false })
      pauseMs = Math.min(pauseMs * 2, longest)
    }
  }
}

async function withinMs<T>(limitMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new StoreUnavailable('again')), limitMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Takes back a claim that was asked for but will not be used, since the answer to the acquire never came: the acquire
 * may have been applied, or may still be on its way. Without this it would lapse into an unknown outcome although
 * nothing was ever sent. Looks again within the lease, for an acquire that overtook the first look; and while the store
 * is away it never pauses for as long as a lease, since the store may grant the claim in the moment it is back.
 */
export async function takeBackClaim(store: Store, claim: Omit<SettleRequest, 'to' | 'response'>): Promise<void> {
  const request: SettleRequest = { ...claim, to: 'failed' }
  const leaseMs = claim.keepAtLeastMs
  const limitMs = Math.max(60_000, 2 * leaseMs)
  try {
    for (let looks = 1; (await persist(() => store.settle(request), limitMs, leaseMs / 4)) === 'stale' && looks < LOOKS; looks++) {
      await pause(leaseMs / 2, undefined, { ref: false })
    }
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
  }
}

/** Half a lease apart, they find whatever is granted within a lease of the first before it can lapse. */
const LOOKS = 3
