// `match.where`: what a request must say besides method and path for a rule to guard it.
import { constant, encode } from './canonical.ts'
import type { RequestContext } from './request-context.ts'
import { compileSelector, readsBody, readsClaims, type CompiledSelector } from './select.ts'

export interface Condition {
  readonly selector: CompiledSelector
  readonly readsBody: boolean
  readonly readsClaims: boolean
  readonly holds: (context: RequestContext) => boolean
}

type Constant = string | number | boolean

export function compileConditions(where: Readonly<Record<string, readonly Constant[]>>): Condition[] {
  return Object.entries(where).map(([text, wanted]) => {
    const selector = compileSelector(text)
    // Headers, queries and forms have texts only: `1` in the file means theirs as well.
    const known = new Set(wanted.flatMap((value) => [encode(constant(value)), encode(String(value))]))
    return {
      selector,
      readsBody: readsBody(selector),
      readsClaims: readsClaims(selector),
      holds: (context) => selector.select(context).some((value) => known.has(encode(value))),
    }
  })
}
