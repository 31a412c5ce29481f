// What the heart asks of a spool: a place on this machine for results that the store could not take in time.
import type { AppendRequest, SettleRequest } from './store.ts'

export interface SpooledResult {
  readonly rule: string
  /** As it would have been sent to the store: `response.body` is what comes after the `logged` bytes of the store's log. */
  readonly settle: SettleRequest
  /** A piece that was sent to the log without an answer. The very same is to be appended before the settling. */
  readonly unsure?: AppendRequest | undefined
}

/** Shared by every process on one machine that uses the same folder and the same store. */
export interface Spool {
  /** Resolves when the result is on disk, or when there is no room for it. Rejects where the disk refuses. */
  put(result: SpooledResult): Promise<'kept' | 'full'>
  get(executionId: string): SpooledResult | undefined
  /** Does nothing where it is not there any more. */
  remove(executionId: string): Promise<void>
  /** The executions whose results are held, by whichever process, for any of these fingerprints. */
  heldFor(fingerprints: readonly string[]): readonly string[]
  /** Executions whose results are held, in the order of time, at most so many; only those that began later than `after`. */
  oldest(limit: number, after?: string): readonly string[]
  count(): number
  /** Finds out whether another process has begun to spool. */
  look(): Promise<void>
  close(): Promise<void>
}
