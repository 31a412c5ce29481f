// Steps on texts: spelling, patterns, words for other words.
import { compilePattern, type SafePattern } from '../../config/safe-pattern.ts'
import { constant, type CanonicalValue } from '../canonical.ts'
import { numberText } from '../decimal.ts'
import { ExactNumber } from '../decimal.ts'
import { onEach, onTexts, shortText, type Step } from './step.ts'

type Constant = string | number | boolean

export const trim = onTexts((text) => text.trim())
export const lower = onTexts((text) => text.toLowerCase())
export const upper = onTexts((text) => text.toUpperCase())
export const nfc = onTexts((text) => text.normalize('NFC'))
export const nfkc = onTexts((text) => text.normalize('NFKC'))
/** Every run of white space is one space; none stays at the ends. */
export const collapseSpace = onTexts((text) => text.trim().split(/\s+/u).join(' '))

/** Numbers and booleans as the text that says the same; lists and objects stay. */
export const string = onEach((value) => asText(value) ?? value)

/** Other spellings of one thing; what is not in the table stays as it is. */
export function mapTo(table: Readonly<Record<string, Constant>>): Step {
  const known = new Map(Object.entries(table).map(([from, to]) => [from, constant(to)]))
  return onEach((value) => {
    const text = asText(value)
    return text === undefined ? value : (known.get(text) ?? value)
  })
}

/** The first pattern that is found names the whole text; a text without any stays as it is. */
export function matchTo(entries: readonly { readonly regex: string; readonly to: Constant }[]): Step {
  const compiled = entries.map(({ regex, to }) => ({ pattern: compilePattern(regex), to: constant(to) }))
  return onTexts((text) => {
    const short = shortText(text, 'match')
    return compiled.find(({ pattern }) => pattern.test(short))?.to ?? text
  })
}

export function extract(regex: string): Step {
  const pattern = compilePattern(regex)
  return onEach((value) => {
    const text = asText(value)
    return text === undefined ? undefined : pattern.extract(shortText(text, 'regex'))
  })
}

/** As if these values had not been sent. */
export function absentIf(regex: string): Step {
  const pattern = compilePattern(regex)
  return (values) => values.filter((value) => !isFound(pattern, value))
}

function isFound(pattern: SafePattern, value: CanonicalValue): boolean {
  const text = asText(value)
  return text !== undefined && pattern.test(shortText(text, 'absentIf'))
}

/** The text that says a single value; undefined for null, bytes, lists and objects. */
export function asText(value: CanonicalValue): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  return typeof value === 'number' || value instanceof ExactNumber ? numberText(value) : undefined
}
