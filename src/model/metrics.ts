// What is counted, in which words: the fixed lists that labels are made of, and whom the counting parts tell.
import { PROBLEMS, type ProblemName } from './problems.ts'
import type { SettledStatus } from './record.ts'

/** What a request came to, besides the problem it was refused with. */
export type RequestOutcome =
  | ProblemName
  /** It was executed, and its client got the whole answer. */
  | 'executed'
  /** The answer broke off. */
  | 'broken'
  | 'replayed'
  | 'attached'
  | 'accepted'
  /** Forwarded without a guard, as no rule fits, the rule is off, or it lets such requests pass. */
  | 'passed'
  /** Forwarded without a guard, as the store was out of reach. */
  | 'unguarded'
  | 'client-gone'
  | 'status'
  | 'resumed'

const PROBLEM_NAMES = Object.keys(PROBLEMS) as ProblemName[]
/** Of the status pages, whose requests are counted as such, and of the admin port. */
const OF_OTHER_PAGES: readonly ProblemName[] = [
  'unknown-fingerprint',
  'not-found',
  'method-not-allowed',
  'not-unknown',
  'still-running',
  'config-invalid',
]
/** Told before a rule is looked for. */
const BEFORE_RULES: readonly ProblemName[] = ['path-ambiguous', 'request-invalid', 'shutting-down']

/** What can become of a request that a rule fits. */
export const RULE_OUTCOMES: readonly RequestOutcome[] = [
  'executed',
  'broken',
  'replayed',
  'attached',
  'accepted',
  'passed',
  'unguarded',
  'client-gone',
  ...PROBLEM_NAMES.filter((name) => !OF_OTHER_PAGES.includes(name) && !BEFORE_RULES.includes(name)),
]

/** What can become of one that no rule fits, or that ended before its rule was known. */
export const OTHER_OUTCOMES: readonly RequestOutcome[] = [
  'passed',
  'client-gone',
  'status',
  'resumed',
  ...BEFORE_RULES,
  'body-invalid',
  'body-too-large',
  'body-unsupported',
  'token-invalid',
  'keys-unavailable',
  'upstream-unreachable',
  'upstream-broken',
  'internal-error',
]

/** What a rule in shadow would have done with a request. */
export const SHADOW_OUTCOMES = [
  'executed',
  'replayed',
  'attached',
  'waited',
  'passed',
  'unguarded',
  'in-flight',
  'key-reused',
  'outcome-unknown',
  'expired',
  'store-unavailable',
  'key-missing',
  'key-invalid',
  'field-missing',
  'field-invalid',
  'body-invalid',
  'body-unsupported',
  'body-too-large',
  'token-invalid',
  'keys-unavailable',
] as const
export type ShadowOutcome = (typeof SHADOW_OUTCOMES)[number] | ProblemName

export const FINGERPRINT_RESULTS = ['guarded', 'refused', 'no-owner', 'part-missing'] as const
export type FingerprintResult = (typeof FINGERPRINT_RESULTS)[number]

export const SETTLED: readonly SettledStatus[] = ['completed', 'failed', 'unknown']

/** What a record was when an execution was granted on it. */
export const STATES_BEFORE = ['none', 'failed', 'unknown', 'completed'] as const
export type StateBefore = (typeof STATES_BEFORE)[number]

export const STORE_VERBS = [
  'acquire',
  'renew',
  'settle',
  'append',
  'cancel',
  'readLog',
  'read',
  'readResponse',
  'list',
  'remove',
  'ping',
] as const
export type StoreVerb = (typeof STORE_VERBS)[number]

/** Durations are milliseconds. */
export interface RuleMetrics {
  fingerprint(result: FingerprintResult): void
  /** What a rule in shadow would have done. */
  shadow(outcome: ShadowOutcome): void
  /** Which source a part was read from, where it has several. */
  source(part: string, source: string): void
  /** An execution begins; `unknown`: the one before it may have acted. */
  granted(after: StateBefore, executionId: string): void
  /** It has ended, and this is what its record should say. */
  ended(result: SettledStatus, executionId: string): void
  /** One fingerprint is asked for again and again. */
  storm(): void
  /** What a guarded request took besides the upstream, its client and other executions. */
  overhead(ms: number): void
  /** From the sending of a request to the end of its answer. */
  upstream(ms: number): void
}

export interface Metrics {
  /** Undefined: no rule fits, or it ended before its rule was known. */
  request(rule: string | undefined, outcome: RequestOutcome): void
  /** Of a rule of the configuration. */
  rule(name: string): RuleMetrics
  /** The store has taken a settling, or refused it as one of an execution that no longer holds the record. */
  settled(to: SettledStatus, result: 'ok' | 'stale'): void
  /** The upstream or an operator has said what came of an execution whose outcome was unknown. */
  learned(to: 'completed' | 'failed'): void
  leaseLost(): void
  /** So many results wait in the spool for the store. */
  spooled(results: number): void
  /** So many outcomes are known to be unknown, at whatever gateway they came about. */
  unknown(records: number): void
  store(verb: StoreVerb, ms: number, failed: boolean): void
}
