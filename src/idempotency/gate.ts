// What the heart works with: the parts that the composition root puts together, and the rules of one request.
import type { RuleConfig } from '../config/gateway-config.ts'
import type { InquiryPath } from '../fingerprint/inquiry-path.ts'
import type { Metrics } from '../model/metrics.ts'
import type { Operation } from '../model/operation.ts'
import type { RecordView } from '../model/record.ts'
import type { RequestTrace } from '../model/trace.ts'
import type { ExecutionName, Store } from '../stores/store.ts'
import type { UpstreamRequest } from '../upstream/forward.ts'
import type { Upstreams } from '../upstream/upstreams.ts'
import type { ClientStream } from './answer.ts'
import type { Answers } from './answers.ts'
import type { Durations } from './durations.ts'
import type { ExecutionLabel } from './execution-headers.ts'
import type { Inquiries } from './inquiries.ts'
import type { Limits } from './limits.ts'
import type { LiveExecutions } from './live-executions.ts'
import type { Log } from './log.ts'
import type { SpooledResults } from './spooled-results.ts'
import type { RetryStorms } from './retry-storms.ts'
import type { TakeBacks } from './take-backs.ts'

export interface Gate {
  readonly store: Store
  readonly upstreams: Upstreams
  readonly durations: Durations
  readonly live: LiveExecutions
  readonly answers: Answers
  readonly limits: Limits
  readonly inquiries: Inquiries
  readonly takeBacks: TakeBacks
  readonly spooled: SpooledResults
  readonly storms: RetryStorms
  readonly log: Log
  readonly metrics: Metrics
  /** Milliseconds that one store call may take. */
  readonly storeTimeout: number
}

/** One guarded request on its way through the heart. */
export interface GuardedRequest {
  readonly rule: RuleConfig
  readonly operation: Operation
  /** When it had come, whole: milliseconds of `performance.now()`. */
  readonly since: number
  /** What an execution would send, but for the headers that name it. */
  readonly forward: Omit<UpstreamRequest, 'timeoutMs'>
  /** Where the upstream is asked what became of an execution; undefined where the rule does not ask. */
  readonly inquiryPath: ((execution: ExecutionLabel) => InquiryPath) | undefined
  /** Seconds of `Prefer: wait=N` (RFC 7240 4.3), where the client sent it. */
  readonly preferWait: number | undefined
  /** `Prefer: respond-async` (RFC 7240 4.1), where the rule allows it. */
  readonly respondAsync: boolean
  /** The last event of the answer's stream that the client has seen (HTML Living Standard 9.2.4). */
  readonly lastEventId: string | undefined
  /** Undefined where it is not traced. */
  readonly trace?: RequestTrace | undefined
  /** Where the answer of that execution goes to the client, if not straight to it. */
  readonly streamTo?: (name: ExecutionName) => ClientStream
}

/** What in-flight refusals and the status page tell of the time that is left, in milliseconds. */
export function timeLeft(gate: Gate, rule: Pick<RuleConfig, 'name' | 'inFlight' | 'lease'>, record: RecordView): number {
  if (rule.inFlight.retryAfter !== 'auto') return rule.inFlight.retryAfter
  const left = gate.durations.left(rule.name, record.readAt - record.startedAt)
  // A dead owner is noticed within a lease: asking again later than that would only lose time.
  return Math.max(1, Math.min(Math.round(left), rule.lease))
}
