// Store calls that do not give up at the first fault.
import { setTimeout as pause } from 'node:timers/promises'
import { StoreFull, StoreUnavailable } from '../stores/store.ts'

const FIRST_PAUSE_MS = 20
const LONGEST_PAUSE_MS = 5000
/** No pause is longer than this part of the time there is: a store that comes back in time is met in time. */
const PAUSE_SHARE = 10

/**
 * Calls the store, again and again while it is out of reach, for `limitMs` at most; the first call is always made.
 * Every verb is safe to repeat (G2, G3, G9). Rejects with StoreUnavailable when the time is over, or
 * at once where the store is full.
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
      if (!(error instanceof StoreUnavailable) || error instanceof StoreFull || performance.now() + pauseMs > end) throw error
      await pause(pauseMs, undefined, { ref: false })
      pauseMs = Math.min(pauseMs * 2, longest)
    }
  }
}

/** Rejects with StoreUnavailable when the time is over. */
export async function withinMs<T>(limitMs: number, work: Promise<T>): Promise<T> {
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
