// The client's own idempotency key: one value, not blank, not too long; in a header quoted or bare.
import { parseItem } from 'structured-headers'
import type { CanonicalValue } from './canonical.ts'
import { ExactNumber } from './decimal.ts'
import { Refusal } from './refusal.ts'

export const MAX_KEY_LENGTH = 255

/** Checks what a selector of the part named `key` found (at least one value); returns the key as text. */
export function readClientKey(values: readonly CanonicalValue[], selector: string): string {
  const [value] = values
  if (values.length !== 1) throw invalid(selector, 'was sent more than once')
  if (value instanceof ExactNumber) return checked(value.text, selector)
  if (typeof value === 'number') return checked(String(value), selector)
  if (typeof value !== 'string') throw invalid(selector, 'is neither text nor a number')
  return checked(selector.startsWith('header.') ? headerKey(value, selector) : value, selector)
}

/**
 * A quoted string (RFC 9651 section 3.3.3) or a bare value. Bare ones are opaque: as a structured field a UUID is a token, or
 * an error where it starts with a digit.
 */
function headerKey(line: string, selector: string): string {
  if (!line.startsWith('"')) {
    if (line.endsWith('"')) throw invalid(selector, 'ends with a quote that was never opened')
    return line
  }
  try {
    const [key] = parseItem(line)
    if (typeof key === 'string') return key
  } catch (error) {
    throw invalid(selector, 'is not a well-formed quoted string', error)
  }
  throw invalid(selector, 'is not a string')
}

function checked(key: string, selector: string): string {
  if (key.trim() === '') throw invalid(selector, 'is empty')
  if (key.length > MAX_KEY_LENGTH) throw invalid(selector, `is longer than ${MAX_KEY_LENGTH} characters`)
  return key
}

function invalid(selector: string, why: string, cause?: unknown): Refusal {
  return new Refusal('key-invalid', `The idempotency key (${selector}) ${why}.`, cause)
}
