// Writes a problem for a client: RFC 9457, or another dialect, with the headers that SDKs look for.
import { problemDocument, wholeSeconds } from '../model/problem-document.ts'
import { type ErrorDialect, type Problem, problemStatus, retryAdvice } from '../model/problems.ts'
import { DIALECTS } from './problem-dialects.ts'

export interface ProblemResponse {
  readonly status: number
  readonly headers: string[]
  readonly body: Buffer
}

export interface ProblemOptions {
  readonly statusPath: string
  readonly accept: string | undefined
  /** Default: problem. */
  readonly dialect?: ErrorDialect
  /** JSON text of the request's own `id`, for the dialect jsonrpc. */
  readonly requesterId?: string | undefined
}

/** Status and headers say the same in every dialect. */
export function problemResponse(problem: Problem, options: ProblemOptions): ProblemResponse {
  const status = problemStatus(problem)
  const retry = retryAdvice(problem)
  const dialect = DIALECTS[options.dialect ?? 'problem']
  const body = Buffer.from(dialect.body(problemDocument(problem, options.statusPath), problem, options.requesterId))
  const headers = [
    'Content-Type',
    dialect.contentType ?? contentType(options.accept),
    'Content-Length',
    String(body.length),
    'Cache-Control',
    'no-store',
    'Oncegate-Error',
    problem.name,
  ]
  if (problem.fingerprint !== undefined) headers.push('Idempotency-Fingerprint', problem.fingerprint)
  if (problem.retryAfterMs !== undefined) {
    // RFC 9110 10.2.3 allows whole seconds only; some clients fail on anything else, so the exact time goes beside it.
    headers.push('Retry-After', String(wholeSeconds(problem.retryAfterMs)), 'retry-after-ms', String(problem.retryAfterMs))
  }
  headers.push('x-should-retry', String(retry === 'same-key'), 'stripe-should-retry', String(retry === 'same-key'))
  if (dialect.headers !== undefined) headers.push(...dialect.headers(problem))
  return { status, headers, body }
}

function contentType(accept: string | undefined): string {
  const asksJson = accept !== undefined && /\bapplication\/json\b/i.test(accept) && !/\bapplication\/problem\+json\b/i.test(accept)
  return asksJson ? 'application/json' : 'application/problem+json'
}
