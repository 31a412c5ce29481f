// Tells an operator why the store refuses, once in a while for each reason: a full disk must not fill it with lines.
import { StoreFull, StoreUnavailable } from './store.ts'

const TELL_EVERY_MS = 10_000
const MOST_REASONS = 50

/** Takes each failure of a call. The stores' reasons hold nothing of a request. */
export function faultLog(warn: (message: string) => void): (verb: string, error: unknown) => void {
  const toldAt = new Map<string, number>()
  return (verb, error) => {
    // A store that is full says so itself, and what to do.
    if (!(error instanceof StoreUnavailable) || error instanceof StoreFull || !(error.cause instanceof Error)) return
    const reason = `${verb}: ${error.cause.message}`
    const now = performance.now()
    if (now - (toldAt.get(reason) ?? -Infinity) < TELL_EVERY_MS) return
    // Reasons that name a place in a file are all different.
    if (toldAt.size >= MOST_REASONS) toldAt.clear()
    toldAt.set(reason, now)
    warn(`the store did not answer: ${reason}`)
  }
}
