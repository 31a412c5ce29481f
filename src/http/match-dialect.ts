// In which form a request's client looks for errors.
import type { RouteMatch } from '../fingerprint/route.ts'
import type { ErrorDialect } from '../model/problems.ts'

/** Where several rules may guard the request, theirs if they agree. */
export function dialectOf(match: RouteMatch): ErrorDialect {
  if (match.kind === 'matched') return match.rule.config.errors
  if (match.kind !== 'choice') return 'problem'
  const [first, ...others] = match.options.map(({ rule }) => rule.config.errors)
  return first !== undefined && others.every((other) => other === first) ? first : 'problem'
}
