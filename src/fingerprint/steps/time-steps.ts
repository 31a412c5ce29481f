// Steps on times: dates in words, and windows of a time field that a client sends.
import type { DateSetting } from '../../config/step-schema.ts'
import { dateReader, type DateTools } from '../dates/read-date.ts'
import { ExactNumber, decimalParts } from '../decimal.ts'
import type { CanonicalValue } from '../canonical.ts'
import { Refusal } from '../refusal.ts'
import { onEach, shortText, type Step } from './step.ts'

export function date(setting: DateSetting, tools: DateTools): Step {
  const read = dateReader(setting, tools)
  return onEach((value, { receivedAt }) => (typeof value === 'string' ? read(shortText(value, 'date'), receivedAt) : undefined))
}

/** Later than any second count of these centuries, earlier than its milliseconds. */
const FIRST_MILLISECOND_COUNT = 100_000_000_000

/**
 * Which half of a window a time goes by, counted from the one that holds it. Each time looks under the halves on both sides of its
 * own, so that of any two times either both look under the other's name or neither does: less than half a window apart they always
 * do, a whole window apart they never do.
 */
export type HalfWindow = 0 | -1 | 1

export const ITS_OWN: HalfWindow = 0
export const BESIDE: readonly HalfWindow[] = [-1, 1]

/** The number of half a window: of a time in RFC 3339 with an offset, or in seconds or milliseconds since 1970. */
export function timeWindow(lengthMs: number, half: HalfWindow = ITS_OWN): Step {
  const each = onEach((value) => {
    const milliseconds = epochMilliseconds(value)
    return milliseconds === undefined ? undefined : Math.floor((2 * milliseconds) / lengthMs) + half
  })
  return (values, context) => {
    // With every further time the names of one fact would double.
    if (values.length > 1)
      throw new Refusal('field-invalid', 'A part of the fingerprint has more than the one time that the step "window" reads.')
    return each(values, context)
  }
}

const INSTANT = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:\d\d)$/

function epochMilliseconds(value: CanonicalValue): number | undefined {
  if (typeof value === 'number') return Math.abs(value) < FIRST_MILLISECOND_COUNT ? value * 1000 : value
  if (value instanceof ExactNumber) {
    const { digits, exponent } = decimalParts(value)
    return digits.length > 40 || exponent > 40n || exponent < -40n ? undefined : epochMilliseconds(Number(value.text))
  }
  if (typeof value !== 'string') return undefined
  const text = shortText(value, 'window').trim()
  if (/^\d{1,17}(?:\.\d{1,9})?$/.test(text)) return epochMilliseconds(Number(text))
  const parsed = INSTANT.test(text) ? Date.parse(text.replace(' ', 'T').toUpperCase()) : Number.NaN
  return Number.isNaN(parsed) ? undefined : parsed
}
