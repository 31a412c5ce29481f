// The members of a problem document (RFC 9457 section 3), whoever writes it and in whatever dialect.
import { PROBLEMS, type Problem, problemStatus, retryAdvice } from './problems.ts'

export type ProblemDocument = Readonly<Record<string, unknown>> & { readonly type: string; readonly detail: string }

/** `statusPath`: where the status pages are, for readers who can reach them. */
export function problemDocument(problem: Problem, statusPath?: string): ProblemDocument {
  const { fingerprint, retryAfterMs } = problem
  return {
    type: `urn:oncegate:${problem.name}`,
    title: PROBLEMS[problem.name].title,
    status: problemStatus(problem),
    detail: problem.detail,
    retry: retryAdvice(problem),
    ...(fingerprint !== undefined && { fingerprint }),
    ...(fingerprint !== undefined && statusPath !== undefined && { status_url: `${statusPath}/${fingerprint}` }),
    ...(retryAfterMs !== undefined && { retry_after: wholeSeconds(retryAfterMs), retry_after_ms: retryAfterMs }),
    ...problem.members,
  }
}

/** RFC 9110 10.2.3: `Retry-After` knows whole seconds only. */
export function wholeSeconds(milliseconds: number): number {
  return Math.max(1, Math.ceil(milliseconds / 1000))
}
