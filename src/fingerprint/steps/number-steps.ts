// Steps on numbers: sent as numbers or as texts, they compare by value.
import type { CanonicalValue } from '../canonical.ts'
import { ExactNumber, decimal, decimalParts, roundDecimal } from '../decimal.ts'
import { onEach, shortText, type Step } from './step.ts'

const WRITTEN = /^([+-]?)(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,9})?$/

/** A whole number; 1.0 is one, and so is the text 007. */
export const integer = onEach((value) => {
  const number = readNumber(value, 'integer')
  return number !== undefined && decimalParts(number).exponent >= 0n ? number : undefined
})

export const number = onEach((value) => readNumber(value, 'number'))

export function rounded(places: number): Step {
  return onEach((value) => {
    const read = readNumber(value, 'number')
    return read === undefined ? undefined : roundDecimal(read, places)
  })
}

function readNumber(value: CanonicalValue, step: string): number | ExactNumber | undefined {
  if (typeof value === 'number') return value
  if (value instanceof ExactNumber) {
    shortText(value.text, step)
    return value
  }
  if (typeof value !== 'string') return undefined
  const [, sign, digits, exponent = ''] = WRITTEN.exec(shortText(value, step).trim()) ?? []
  if (digits === undefined) return undefined
  const full = digits.startsWith('.') ? `0${digits}` : digits.replace(/\.$/, '')
  return decimal(`${sign === '-' ? '-' : ''}${full}${exponent}`)
}
