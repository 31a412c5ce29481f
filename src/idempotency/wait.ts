// Holds a request while an execution runs: woken by the store, and never past its own limit.
import { isInFlight, type RecordView } from '../model/record.ts'
import type { Store } from '../stores/store.ts'
import { Bell } from './bell.ts'
import type { InFlight, Turn } from './turn.ts'

export interface Waiter {
  /** Milliseconds this one may be held. */
  readonly limitMs: number
  /** Its client has left, or the gateway's time is over. */
  readonly gone: () => boolean
  /** Called with a function that ends the waiting when it is gone. */
  readonly onGone: (wake: () => void) => void
}

/** A wake-up call can get lost with a connection; this often the record is looked at anyway. */
export const LOOK_AGAIN_MS = 1000

/**
 * Waits for the right to execute or for an answer; still `in_flight` where the limit or the client ended the waiting.
 * Of all who wait when an execution fails exactly one is granted the next, since each acquires anew; the rest wait on.
 * A client that has left is never granted anything.
 */
export async function waitForTurn(store: Store, first: InFlight, waiter: Waiter, acquire: () => Promise<Turn>): Promise<Turn> {
  const end = performance.now() + waiter.limitMs
  let claim: Turn = first
  while (claim.kind === 'in_flight') {
    // Only read while it runs: waiting does not count as asking again.
    const record = await waitWhileProcessing(store, claim.record.fingerprint, { ...waiter, limitMs: end - performance.now() })
    if (record !== undefined && isInFlight(record.status)) return { kind: 'in_flight', record }
    if (waiter.gone()) return claim
    claim = await acquire()
    if (performance.now() >= end) break
  }
  return claim
}

/** Resolves with the record once it is not in flight, or as it is when the limit or the client ended the waiting. */
export function waitWhileProcessing(store: Store, fingerprint: string, waiter: Waiter): Promise<RecordView | undefined> {
  return waitWhile(store, fingerprint, waiter, ({ status }) => isInFlight(status))
}

/** The same while the record, in flight, is as `goesOn` says. */
export async function waitWhile(
  store: Store,
  fingerprint: string,
  waiter: Waiter,
  goesOn: (record: RecordView) => boolean,
): Promise<RecordView | undefined> {
  const end = performance.now() + waiter.limitMs
  const bell = new Bell()
  waiter.onGone(() => bell.ring())
  // Watching begins before the first look: what is settled in between rings the bell.
  const unwatch = await store.watch(fingerprint, () => bell.ring())
  try {
    for (;;) {
      const record = await store.read(fingerprint)
      const left = end - performance.now()
      if (record === undefined || !goesOn(record) || left <= 0 || waiter.gone()) return record
      // A dead owner rings no bell: its lease running out is the sign.
      await bell.wait(Math.min(left, record.leaseLeft + 1, LOOK_AGAIN_MS))
    }
  } finally {
    unwatch()
  }
}
