// What those who watch a record are to be told of, in one text.
import type { Environment } from './environment.ts'
import { firstInGroup } from './group-table.ts'

/** What every settling, every piece and a turn in the group changes, and a renewal does not. */
export function watchedState(environment: Environment, fingerprint: string): string {
  environment.refresh()
  const record = environment.records.get(fingerprint)
  if (record === undefined) return ''
  const { attempt, status, createdAt, log, waiter } = record
  const turn = waiter && firstInGroup(environment, fingerprint, Date.now()) === fingerprint
  return `${attempt} ${status} ${createdAt} ${log?.bytes} ${log?.overflow} ${waiter?.executionId} ${turn}`
}
