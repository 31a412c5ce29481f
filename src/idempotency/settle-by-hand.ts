// An operator's word on an execution of which nobody knows the outcome.
import type { RuleConfig } from '../config/gateway-config.ts'
import { problem, type Problem } from '../model/problems.ts'
import type { RecordView } from '../model/record.ts'
import type { StoredResponse } from '../model/stored-response.ts'
import type { Store } from '../stores/store.ts'

export interface SettledByHand {
  readonly before: RecordView
  /** Undefined: its time was over, and it is gone. */
  readonly after: RecordView | undefined
}

export interface Word {
  readonly fingerprint: string
  /** `failed` without a response promises that the next duplicate executes, whatever the rule says of failures. */
  readonly to: 'completed' | 'failed'
  readonly response: (rule: RuleConfig | undefined) => StoredResponse | Problem | undefined
}

/**
 * Settles the execution that the record has now, and no other: one that began meanwhile, or whose late answer has come, is
 * left alone. Rejects with StoreUnavailable; the same word may then be given again.
 */
export async function settleByHand(
  store: Store,
  rules: ReadonlyMap<string, { readonly config: RuleConfig }>,
  { fingerprint, to, response: make }: Word,
): Promise<SettledByHand | Problem> {
  const before = await store.read(fingerprint)
  if (before === undefined) return unknownRecord()
  if (before.status !== 'unknown') return notUnknown(before)
  const rule = rules.get(before.rule)?.config
  const response = make(rule)
  if (response !== undefined && 'name' in response) return response
  const result = await store.settle({
    fingerprint,
    executionId: before.executionId,
    to,
    // A record of a rule that is gone is kept for as long as it was to be.
    ttlMs: rule?.ttl ?? (before.expiresAt === undefined ? Infinity : before.expiresAt - before.createdAt),
    keepAtLeastMs: rule?.lease ?? KEPT_MS,
    tombstoneMs: rule?.tombstone,
    ...(response !== undefined && { response }),
  })
  const after = await store.read(fingerprint)
  return result === 'ok' ? { before, after } : after === undefined ? unknownRecord() : notUnknown(after)
}

const KEPT_MS = 30_000

export function unknownRecord(): Problem {
  return problem('unknown-fingerprint', 'No record of this fingerprint: it was never issued here, or has expired.')
}

function notUnknown({ fingerprint, status }: RecordView): Problem {
  const detail = `The record is ${status}: only one whose outcome is unknown can be released, completed or failed by hand.`
  return problem('not-unknown', detail, { fingerprint, members: { record_status: status } })
}
