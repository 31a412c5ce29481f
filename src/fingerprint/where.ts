// Which of several rules guards a request, where their `where` asks for what the request says.
import type { Problem } from '../model/problems.ts'
import { Refusal } from './refusal.ts'
import { RequestContext } from './request-context.ts'
import type { RequestParts } from './request-parts.ts'
import type { Matched } from './route.ts'

export type Chosen = Matched | { readonly kind: 'unmatched' } | { readonly kind: 'refused'; readonly problem: Problem }

/** Whether the body must be at hand for `chooseRule`. */
export function choiceReadsBody(options: readonly Matched[]): boolean {
  return options.some(({ rule }) => rule.where?.some(({ readsBody }) => readsBody) === true)
}

/** Whether the bearer token must be verified for it. */
export function choiceReadsClaims(options: readonly Matched[]): boolean {
  return options.some(({ rule }) => rule.where?.some(({ readsClaims }) => readsClaims) === true)
}

/**
 * The first whose conditions all hold. A body that cannot be read is refused, not passed on to where no rule looks: the upstream
 * may read it all the same.
 */
export function chooseRule(options: readonly Matched[], request: RequestParts): Chosen {
  let context: RequestContext | undefined
  try {
    for (const option of options) {
      context = new RequestContext(request, option.params, context)
      const read = context
      if (option.rule.where?.every(({ holds }) => holds(read)) !== false) return { ...option, context }
    }
    return { kind: 'unmatched' }
  } catch (error) {
    if (error instanceof Refusal) return { kind: 'refused', problem: error.problem }
    throw error
  }
}
