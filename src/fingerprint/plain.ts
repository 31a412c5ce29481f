// Values as JSON can show them, apart from the request that they came from.
import { hash } from 'node:crypto'
import { isList, type CanonicalValue } from './canonical.ts'
import { ExactNumber } from './decimal.ts'

export type Plain = null | boolean | number | string | readonly Plain[] | { readonly [key: string]: Plain }

/** A copy: the digest takes ignored members out of the original. */
export function plain(value: CanonicalValue): Plain {
  if (value === null || typeof value !== 'object') return value
  // JSON's readers would round it.
  if (value instanceof ExactNumber) return { $number: value.text }
  if (value instanceof Uint8Array) return { $bytes: value.length, sha256: hash('sha256', value, 'hex') }
  if (isList(value)) return value.map(plain)
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]))
}
