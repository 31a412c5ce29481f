// Every error the gateway makes itself, in one table (RFC 9457). A test holds the documentation to it.

/** What the client may do: the same request again, the wish under a new key, or nothing that would help. */
export type RetryAdvice = 'same-key' | 'new-key' | 'never'

interface ProblemKind {
  readonly status: number
  readonly title: string
  readonly retry: RetryAdvice
}

export const PROBLEMS = {
  'field-missing': { status: 400, title: 'A part of the fingerprint is missing', retry: 'never' },
  'field-invalid': { status: 400, title: 'A part of the fingerprint cannot be read', retry: 'never' },
  'key-missing': { status: 400, title: 'The idempotency key is missing', retry: 'never' },
  'key-invalid': { status: 400, title: 'The idempotency key is not valid', retry: 'new-key' },
  'body-invalid': { status: 400, title: 'The body cannot be read', retry: 'never' },
  'path-ambiguous': { status: 400, title: 'The path can be read in more than one way', retry: 'never' },
  'request-invalid': { status: 400, title: 'The request cannot be read', retry: 'never' },
  'token-invalid': { status: 401, title: 'The bearer token is not valid', retry: 'never' },
  'unknown-fingerprint': { status: 404, title: 'No such fingerprint', retry: 'never' },
  'not-found': { status: 404, title: 'Nothing here', retry: 'never' },
  'method-not-allowed': { status: 405, title: 'This method is not served here', retry: 'never' },
  'outcome-unknown': { status: 409, title: 'Nobody knows whether it happened', retry: 'never' },
  'not-unknown': { status: 409, title: 'The outcome of this record is known', retry: 'never' },
  'still-running': { status: 409, title: 'An execution holds this record', retry: 'same-key' },
  'result-not-stored': { status: 409, title: 'It happened, but its answer is not kept', retry: 'never' },
  'resource-busy': { status: 409, title: 'Another request that excludes this one is being executed', retry: 'same-key' },
  expired: { status: 410, title: 'It happened, and its answer is no longer kept', retry: 'new-key' },
  'body-too-large': { status: 413, title: 'The body is too large', retry: 'never' },
  'body-unsupported': { status: 415, title: 'A body of this type has no fields', retry: 'never' },
  'key-reused': { status: 422, title: 'The key was used for something else', retry: 'new-key' },
  'config-invalid': { status: 422, title: 'The configuration was not reloaded', retry: 'never' },
  'in-flight': { status: 425, title: 'The same request is still being executed', retry: 'same-key' },
  'too-many-in-flight': { status: 429, title: 'Too many executions of this owner are in flight', retry: 'same-key' },
  'internal-error': { status: 500, title: 'The gateway itself failed', retry: 'same-key' },
  'upstream-unreachable': { status: 502, title: 'The upstream could not be reached', retry: 'same-key' },
  'upstream-broken': { status: 502, title: 'The upstream broke off', retry: 'never' },
  'store-unavailable': { status: 503, title: 'The store is out of reach', retry: 'same-key' },
  'keys-unavailable': { status: 503, title: 'The keys of the token issuer are out of reach', retry: 'same-key' },
  'result-pending': { status: 503, title: 'It was executed, and its answer is not stored yet', retry: 'same-key' },
  'breaker-open': { status: 503, title: 'Too many outcomes of this rule are unknown', retry: 'same-key' },
  'shutting-down': { status: 503, title: 'The gateway is shutting down', retry: 'same-key' },
  'upstream-timeout': { status: 504, title: 'The upstream took too long', retry: 'never' },
} as const satisfies Record<string, ProblemKind>

/** Forms of an error body: each kind of SDK shows its user the text only where it looks for it. */
export const ERROR_DIALECTS = ['problem', 'openai', 'anthropic', 'stripe', 'jsonrpc', 'aws'] as const

export type ErrorDialect = (typeof ERROR_DIALECTS)[number]

export type ProblemName = keyof typeof PROBLEMS

/** One refusal, before it is written for a client. */
export interface Problem {
  readonly name: ProblemName
  /** A sentence for the person who reads it: what, where, and what to do. Never a value from the request. */
  readonly detail: string
  /** Replaces the table's status (`inFlight.status`). */
  readonly status?: number
  /** Replaces the table's advice. */
  readonly retry?: RetryAdvice
  readonly fingerprint?: string
  /** Milliseconds after which asking again is worth it. */
  readonly retryAfterMs?: number
  /** Further members of the problem document (RFC 9457 section 3.2). */
  readonly members?: Readonly<Record<string, unknown>>
}

export function problem(name: ProblemName, detail: string, more: Omit<Problem, 'name' | 'detail'> = {}): Problem {
  return { name, detail, ...more }
}

export function problemStatus(problem: Problem): number {
  return problem.status ?? PROBLEMS[problem.name].status
}

export function retryAdvice(problem: Problem): RetryAdvice {
  return problem.retry ?? PROBLEMS[problem.name].retry
}
