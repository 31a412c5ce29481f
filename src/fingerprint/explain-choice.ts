// Why a rule does or does not guard a request: the routes and conditions that decide it, asked one rule at a time.
import type { Rule } from './compile-rule.ts'
import { plain, type Plain } from './plain.ts'
import { Refusal } from './refusal.ts'
import { RequestContext } from './request-context.ts'
import type { RequestParts } from './request-parts.ts'
import { compileRoutes, type Matched } from './route.ts'

/** `later`: an earlier rule took the request before this one was looked at. */
export type Verdict = 'guards' | 'off' | 'method' | 'path' | 'where' | 'later'

export interface RuleVerdict {
  readonly rule: string
  readonly verdict: Verdict
  readonly detail: string
  /** Of `where`: the conditions that do not hold. */
  readonly conditions?: readonly FailedCondition[]
}

export interface FailedCondition {
  readonly selector: string
  readonly wanted: readonly (string | number | boolean)[]
  readonly found: readonly Plain[]
}

export function explainChoice(rules: readonly Rule[], request: RequestParts, chosen: Matched | undefined): RuleVerdict[] {
  let taken = false
  return rules.map((rule) => {
    const { name, mode } = rule.config
    if (taken) return { rule: name, verdict: 'later', detail: 'not looked at: a rule before it matches' }
    if (rule !== chosen?.rule) return whyNot(rule, request)
    taken = true
    const where = chosen.pattern === '' ? 'every path' : chosen.pattern
    return mode === 'off'
      ? { rule: name, verdict: 'off', detail: `matches ${where}, but its mode is off` }
      : { rule: name, verdict: 'guards', detail: `matches ${request.method} ${where}` }
  })
}

function whyNot(rule: Rule, request: RequestParts): RuleVerdict {
  const { name, match } = rule.config
  const route = compileRoutes([rule])(request.method, request.path)
  if (route.kind === 'choice') return whereFails(rule, request, route.options[0]!)
  if (route.kind === 'ambiguous') return { rule: name, verdict: 'path', detail: route.detail }
  if (!match.methods.includes(request.method)) {
    return { rule: name, verdict: 'method', detail: `${request.method} is not one of ${match.methods.join(', ')}` }
  }
  return { rule: name, verdict: 'path', detail: `${request.path} does not fit ${match.paths.join(' or ')}` }
}

function whereFails(rule: Rule, request: RequestParts, { params }: Matched): RuleVerdict {
  const { name, match } = rule.config
  const context = new RequestContext(request, params)
  try {
    const conditions = (rule.where ?? [])
      .filter(({ holds }) => !holds(context))
      .map(({ selector }) => ({
        selector: selector.text,
        wanted: match.where?.[selector.text] ?? [],
        found: selector.select(context).map(plain),
      }))
    return { rule: name, verdict: 'where', detail: conditions.map(showCondition).join('; '), conditions }
  } catch (error) {
    if (error instanceof Refusal) return { rule: name, verdict: 'where', detail: error.problem.detail }
    throw error
  }
}

function showCondition({ selector, wanted, found }: FailedCondition): string {
  const is = found.length === 0 ? 'is absent' : `is ${found.map((value) => JSON.stringify(value)).join(', ')}`
  return `${selector} ${is}, not ${wanted.map((value) => JSON.stringify(value)).join(' or ')}`
}
