// Writes a problem for a client: RFC 9457, with what SDKs look for beside it.
import { PROBLEMS, type Problem, problemStatus, retryAdvice } from '../model/problems.ts'

export interface ProblemResponse {
  readonly status: number
  readonly headers: string[]
  readonly body: Buffer
}

export function problemResponse(problem: Problem, options: { statusPath: string; accept: string | undefined }): ProblemResponse {
  const status = problemStatus(problem)
  const retry = retryAdvice(problem)
  const body = Buffer.from(JSON.stringify(problemDocument(problem, options.statusPath)))
  const headers = [
    'Content-Type',
    contentType(options.accept),
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
  return { status, headers, body }
}

export function wholeSeconds(milliseconds: number): number {
  return Math.max(1, Math.ceil(milliseconds / 1000))
}

/** `message` and `error` repeat the text where SDKs read it: one of them takes a body without `error` for a success. */
function problemDocument(problem: Problem, statusPath: string): object {
  const { title } = PROBLEMS[problem.name]
  const type = `urn:oncegate:${problem.name}`
  return {
    type,
    title,
    status: problemStatus(problem),
    detail: problem.detail,
    retry: retryAdvice(problem),
    ...(problem.fingerprint === undefined ? {} : { fingerprint: problem.fingerprint, status_url: `${statusPath}/${problem.fingerprint}` }),
    ...(problem.retryAfterMs === undefined
      ? {}
      : { retry_after: wholeSeconds(problem.retryAfterMs), retry_after_ms: problem.retryAfterMs }),
    ...problem.members,
    message: problem.detail,
    error: { type, code: problem.name, message: problem.detail },
  }
}

function contentType(accept: string | undefined): string {
  const asksJson = accept !== undefined && /\bapplication\/json\b/i.test(accept) && !/\bapplication\/problem\+json\b/i.test(accept)
  return asksJson ? 'application/json' : 'application/problem+json'
}
