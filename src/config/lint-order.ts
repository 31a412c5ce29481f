// Rules beside each other: names that stand twice, rules that an earlier one always hides.
import type { Finding } from './mistakes.ts'
import { covers, readPattern } from './path-patterns.ts'
import { asMapping, asTexts } from './plain-values.ts'
import { type RuleView } from './rule-view.ts'

/** An included rule that is never reached may be meant so: the file has its own for it. */
export function lintOrder(rules: readonly RuleView[], ownRules: number): { mistakes: Finding[]; warnings: Finding[] } {
  const hidden = rules.map((rule, n) => lintReach(rule, rules.slice(0, n)))
  return { mistakes: [...lintNames(rules), ...hidden.slice(0, ownRules).flat()], warnings: hidden.slice(ownRules).flat() }
}

function lintNames(rules: readonly RuleView[]): Finding[] {
  const seen = new Set<unknown>()
  return rules.flatMap(({ settings, place }) => {
    const name = settings['name']
    const twice = typeof name === 'string' && seen.has(name)
    seen.add(name)
    if (!twice) return []
    return [
      {
        place: [...place, 'name'],
        at: 'value',
        message: `another rule is already named "${name}"`,
        hint: 'the name is part of every fingerprint',
      } as const,
    ]
  })
}

/** The first rule that matches guards the request: one whose every method and path is taken before it never does. */
function lintReach(rule: RuleView, earlier: readonly RuleView[]): Finding[] {
  const takers = new Set<string>()
  for (const method of methodsOf(rule)) {
    for (const path of pathsOf(rule)) {
      const taker = earlier.find(
        (other) => isUnconditional(other) && methodsOf(other).includes(method) && pathsOf(other).some((outer) => covers(outer, path)),
      )
      if (taker === undefined) return []
      takers.add(`"${taker.label}"`)
    }
  }
  if (takers.size === 0) return []
  const names = [...takers].join(' and ')
  const message = `rule "${rule.label}" can never match: ${names} before it ${takers.size === 1 ? 'takes' : 'take'} all its requests`
  return [
    {
      place: [...rule.place, 'match'],
      at: 'key',
      message,
      hint: 'the first rule that matches guards the request: put the narrower rule first',
    },
  ]
}

/** One with `where` leaves the rest to those after it. */
function isUnconditional({ settings }: RuleView): boolean {
  return asMapping(settings['match'])['where'] === undefined
}

function methodsOf({ settings }: RuleView): string[] {
  const methods = asMapping(settings['match'])['methods']
  return methods === undefined ? ['POST', 'PATCH'] : asTexts(methods)
}

/** The valid patterns of a rule. */
export function pathsOf({ settings }: RuleView): string[] {
  const path = asMapping(settings['match'])['path']
  return path === undefined ? ['/*'] : asTexts(path).filter((pattern) => 'params' in readPattern(pattern))
}
