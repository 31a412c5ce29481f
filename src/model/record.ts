// What the store keeps for one fingerprint, as the rest of the gateway sees it.
import type { ResponseHead } from './stored-response.ts'

/**
 * `pending`: it waits for its group. `unknown`: the request was sent, and nobody knows whether the upstream acted. `expired`: it
 * completed, its result is gone, and it is not executed again.
 */
export type RecordStatus = 'pending' | 'processing' | 'completed' | 'failed' | 'unknown' | 'expired'

/** How an execution can end; `failed` promises that running again is safe. */
export type SettledStatus = Exclude<RecordStatus, 'pending' | 'processing' | 'expired'>

/** An execution is under way, or is to be: whoever asks again has to wait. */
export function isInFlight(status: RecordStatus): status is 'pending' | 'processing' {
  return status === 'processing' || status === 'pending'
}

/** A reading of one record. Every time is milliseconds since the epoch, by the store's own clock. */
export interface RecordView {
  readonly fingerprint: string
  readonly rule: string
  /** Keyed hash of whom the record belongs to; empty when it belongs to nobody in particular. */
  readonly owner: string
  /** `unknown` also for a processing record whose lease has run out. */
  readonly status: RecordStatus
  /** The fencing token: 1 for the first execution, one more for each later one; of a pending one, which it will be. */
  readonly attempt: number
  /** UUIDv7 of the latest execution, or of the one that waits. */
  readonly executionId: string
  /** How often the fingerprint was asked for again. */
  readonly duplicates: number
  readonly createdAt: number
  /** When the latest execution was granted; of a record that only waits, when it came. */
  readonly startedAt: number
  readonly updatedAt: number
  /** Undefined: kept for ever. */
  readonly expiresAt: number | undefined
  /** The store's clock at this reading, so that durations never mix two clocks. */
  readonly readAt: number
  /** Milliseconds until the lease runs out, or the place in the line; 0 unless in flight. */
  readonly leaseLeft: number
  /** Present once an upstream answer was stored. */
  readonly response: ResponseHead | undefined
}
