// One step of `apply`: from the values that a selector found to those that count. No values: the part is missing.
import type { CanonicalValue } from '../canonical.ts'
import { isList } from '../canonical.ts'
import { Refusal } from '../refusal.ts'
import type { Watch } from '../watch.ts'

export interface StepContext {
  readonly receivedAt: number
}

export type Step = (values: readonly CanonicalValue[], context: StepContext) => readonly CanonicalValue[]

/** Several in a row. */
export type Steps = (values: readonly CanonicalValue[], context: StepContext, watch?: Watch) => readonly CanonicalValue[]

/** Characters that patterns, dates, addresses and numbers are looked for in: more is no such value, and would cost time. */
export const MAX_TEXT = 8192

/** Changes texts, also those of a list; other values stay as they are. */
export function onTexts(change: (text: string) => CanonicalValue): Step {
  const deep = (value: CanonicalValue): CanonicalValue => {
    if (typeof value === 'string') return change(value)
    return isList(value) ? value.map(deep) : value
  }
  return (values) => values.map(deep)
}

/** Reads each value as one kind of thing; where one is none, the part is missing: half of a list is another list. */
export function onEach(read: (value: CanonicalValue, context: StepContext) => CanonicalValue | undefined): Step {
  return (values, context) => {
    const results: CanonicalValue[] = []
    for (const value of values) {
      const result = read(value, context)
      if (result === undefined) return []
      results.push(result)
    }
    return results
  }
}

/** The text itself, unless it is too long to be looked at. */
export function shortText(text: string, step: string): string {
  if (text.length <= MAX_TEXT) return text
  throw new Refusal('field-invalid', `A part of the fingerprint is longer than the ${MAX_TEXT} characters that the step "${step}" reads.`)
}
