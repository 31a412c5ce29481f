// An operator's word that a record is to be forgotten: whoever asks again then executes, as if for the first time.
import { problem, type Problem } from '../model/problems.ts'
import { isInFlight, type RecordView } from '../model/record.ts'
import type { Store } from '../stores/store.ts'
import { unknownRecord } from './settle-by-hand.ts'

/**
 * The record as it was, or why it stays: an execution that runs keeps its own, and one that began or ended since `seen` is not what
 * was meant. Rejects with StoreUnavailable; the same word may then be given again.
 */
export async function removeByHand(store: Store, seen: RecordView): Promise<RecordView | Problem> {
  const { fingerprint, executionId, status } = seen
  if (isInFlight(status)) return stillRunning(seen)
  if ((await store.remove({ fingerprint, executionId })) === 'ok') return seen
  const after = await store.read(fingerprint)
  return after === undefined ? unknownRecord() : stillRunning(after)
}

function stillRunning({ fingerprint, status }: RecordView): Problem {
  const detail = 'An execution holds this record, or has just changed it: wait until it has ended, then look again.'
  return problem('still-running', detail, { fingerprint, members: { record_status: status } })
}
