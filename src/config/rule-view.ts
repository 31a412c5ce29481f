// Rules as written, with `defaults` under them, before anything is known to be right.
import type { Place } from './mistakes.ts'
import { asList, asMapping, isMapping, valueAt, type Mapping } from './plain-values.ts'

export interface RuleView {
  readonly place: Place
  /** For messages: the rule's name, or its number. */
  readonly label: string
  /** The rule over the defaults; every value unchecked. */
  readonly settings: Mapping
  /** Where a setting was written: in the rule or in `defaults`. */
  readonly placeOf: (setting: string) => Place
}

/** Guards POST and PATCH that carry an `Idempotency-Key`; in force where a file has no rules. */
export const BUILT_IN_RULE: Mapping = {
  name: 'idempotency-key',
  fingerprint: { key: { from: 'header.idempotency-key' } },
  onMissing: 'pass',
}

/** These merge key by key; every other setting of a rule replaces the default's. */
const NESTED = ['inFlight', 'outcome', 'replayHeaders'] as const

export function viewRules(root: unknown): RuleView[] {
  const defaults = asMapping(valueAt(root, ['defaults']))
  const written = valueAt(root, ['rules'])
  const rules = Array.isArray(written) ? (written as unknown[]) : [BUILT_IN_RULE]
  return rules.flatMap((rule, n) => {
    // What is no mapping is the shape check's to report.
    if (!isMapping(rule)) return []
    const own = rule
    const place = Array.isArray(written) ? ['rules', n] : []
    const view: RuleView = {
      place,
      label: typeof own['name'] === 'string' ? own['name'] : `number ${n + 1}`,
      settings: overDefaults(own, defaults),
      placeOf: (setting) =>
        Object.hasOwn(own, setting) || !Object.hasOwn(defaults, setting) ? [...place, setting] : ['defaults', setting],
    }
    return [view]
  })
}

export function overDefaults(own: Mapping, defaults: Mapping): Mapping {
  const merged: Record<string, unknown> = { ...defaults, ...own }
  for (const setting of NESTED) {
    if (!isMapping(own[setting]) || !isMapping(defaults[setting])) continue
    const base = setting === 'outcome' ? withoutRenamed(defaults[setting], own[setting]) : defaults[setting]
    merged[setting] = { ...base, ...own[setting] }
  }
  return merged
}

/** A status that the rule names leaves the default's lists: 409 is not both a result and a failure. */
function withoutRenamed(defaults: Mapping, own: Mapping): Mapping {
  const named = new Set(Object.values(own).flatMap((list) => asList(list)))
  return Object.fromEntries(
    Object.entries(defaults).map(([outcome, list]) => [outcome, asList(list).filter((status) => !named.has(status))]),
  )
}
