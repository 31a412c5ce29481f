// The refusals that a record's state calls for.
import { differingFields } from '../fingerprint/digest-fields.ts'
import { problem, type Problem } from '../model/problems.ts'
import type { RecordView } from '../model/record.ts'
import type { ResponseHead } from '../model/stored-response.ts'
import type { Claim } from '../stores/store.ts'
import type { Answer } from './answer.ts'
import { type Gate, type GuardedRequest, timeLeft } from './gate.ts'

export function refuseInFlight(gate: Gate, { rule }: GuardedRequest, record: RecordView): Answer {
  const detail =
    record.status === 'pending'
      ? 'The same request waits for another one to end that excludes it: ask again for its result.'
      : 'The same request is being executed: ask again for its result.'
  return {
    kind: 'problem',
    problem: problem('in-flight', detail, {
      status: rule.inFlight.status,
      fingerprint: record.fingerprint,
      retryAfterMs: timeLeft(gate, rule, record),
    }),
  }
}

/** `heldMs`: how long the execution that is in the way has been running. */
export function refuseBusy(gate: Gate, { rule, operation }: GuardedRequest, heldMs: number): Answer {
  const left = Math.max(1, Math.min(Math.round(gate.durations.left(rule.name, heldMs)), rule.lease))
  return {
    kind: 'problem',
    problem: problem(
      'resource-busy',
      'Another request is being executed that excludes this one (exclusive); this one was not sent, so the same may be sent again.',
      {
        fingerprint: operation.fingerprint,
        retryAfterMs: rule.inFlight.retryAfter === 'auto' ? left : rule.inFlight.retryAfter,
      },
    ),
  }
}

export function refuseReuse({ operation }: GuardedRequest, claim: Extract<Claim, { kind: 'key_reused' }>): Answer {
  const differs = fewestDiffering(claim.digestFields, operation.fieldsUnder?.get(claim.record.fingerprint) ?? [operation.digestFields])
  const where = differs.length === 0 ? '' : ` It differs in: ${differs.join(', ')}.`
  return {
    kind: 'problem',
    problem: problem('key-reused', `This fingerprint belongs to a request with another content.${where} Use a new key for a new wish.`, {
      fingerprint: claim.record.fingerprint,
      members: { differs },
    }),
  }
}

/** `places`: of the further names that another fact has. */
export function refuseName({ operation }: GuardedRequest, places: readonly number[]): Answer {
  const names = places.map((place) => operation.alsoUnique?.labels[place] ?? '')
  const detail = `Another request has been sent under the same ${names.join(', ')}, with another content. Use a new one for a new wish.`
  return { kind: 'problem', problem: problem('key-reused', detail, { members: { names } }) }
}

/** Of the versions of the rules that have named fields, the one that the record was made under differs in the fewest. */
function fewestDiffering(kept: string, versions: readonly string[]): string[] {
  const [fewest = []] = versions.map((fields) => differingFields(kept, fields)).toSorted((a, b) => a.length - b.length)
  return fewest
}

/** `askAgainMs`: the upstream will be asked again, and not before that. */
export function refuseUnknown(record: RecordView, askAgainMs?: number): Answer {
  if (askAgainMs !== undefined) {
    const detail =
      'An earlier execution was sent to the upstream, and its outcome is not known. It is not run again, since it may have happened: the upstream will be asked, so ask again.'
    return {
      kind: 'problem',
      problem: problem('outcome-unknown', detail, { fingerprint: record.fingerprint, retry: 'same-key', retryAfterMs: askAgainMs }),
    }
  }
  return {
    kind: 'problem',
    problem: problem(
      'outcome-unknown',
      'An earlier execution was sent to the upstream, and its outcome is not known. It is not run again, since it may have happened: look at the upstream, then use a new key.',
      { fingerprint: record.fingerprint },
    ),
  }
}

export function expired(fingerprint: string): Problem {
  const detail = 'The request was executed, and its answer is no longer kept. It is not executed again: use a new key for a new wish.'
  return problem('expired', detail, { fingerprint })
}

export function refuseUnstored(record: RecordView, head: ResponseHead): Answer {
  return {
    kind: 'problem',
    problem: problem(
      'result-not-stored',
      'The request was executed, but its answer is not kept: it was over maxResult, or the store had no room for it.',
      {
        fingerprint: record.fingerprint,
        members: { http_status: head.status, result_hash: `sha256:${head.bodyHash}` },
      },
    ),
  }
}

/** Its result waits for the store. */
export function refuseSpooled(fingerprint: string): Answer {
  const detail = 'The same request was executed, and its answer waits for the store, which is out of reach: ask again for it.'
  return { kind: 'problem', problem: problem('result-pending', detail, { fingerprint, retryAfterMs: 1000 }) }
}

export function storeUnavailable(): Problem {
  const detail = 'The store that remembers requests is out of reach; nothing was sent to the upstream.'
  return problem('store-unavailable', detail, { retryAfterMs: 1000 })
}

export function storeFull(): Problem {
  const detail = 'The store that remembers requests has no room for a further one; nothing was sent to the upstream.'
  return problem('store-unavailable', detail, { retryAfterMs: 5000 })
}
