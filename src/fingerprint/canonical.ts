// The canonical text of a value: injective, every piece tagged with its type and delimited by its length or count.
import { hash } from 'node:crypto'
import { ExactNumber, decimal } from './decimal.ts'
import type { JsonObject, JsonValue } from './json-value.ts'

/** JSON, and bytes: what a request may say. */
export type CanonicalValue = JsonValue | Uint8Array | readonly CanonicalValue[]

/**
 * No canonical text is the beginning of another, and two are equal only for equal values. Lengths count UTF-16 code units.
 * Numbers are as `parseJson` makes them; other doubles go through `constant` first.
 */
export function encode(value: CanonicalValue): string {
  switch (typeof value) {
    case 'string':
      return encodeString(value)
    case 'number':
      return `n${value};`
    case 'boolean':
      return value ? 't' : 'f'
    default:
      if (value === null) return '0'
      if (isList(value)) return encodeArray(value)
      if (value instanceof ExactNumber) return `e${value.text};`
      return value instanceof Uint8Array ? encodeBytes(value) : encodeObject(value)
  }
}

export function encodeString(text: string): string {
  return `s${text.length}:${text}`
}

export function arrayHead(count: number): string {
  return `a${count}:`
}

export function objectHead(count: number): string {
  return `o${count}:`
}

/** By code units, whatever order they came in. */
export function sortedKeys(object: JsonObject): string[] {
  const keys = Object.keys(object)
  for (let n = 1; n < keys.length; n++) {
    if (keys[n - 1]! > keys[n]!) return keys.toSorted()
  }
  return keys
}

/** A list of values, as when a selector yields several. */
export function encodeList(values: readonly CanonicalValue[]): string {
  let text = `l${values.length}:`
  for (const value of values) text += encode(value)
  return text
}

/** Named texts that are canonical already; their order does not matter. */
export function encodeNamed(parts: Named): string {
  let text = `m${parts.length}:`
  for (const [name, canonical] of sortedByName(parts)) text += encodeString(name) + canonical
  return text
}

type Named = readonly (readonly [name: string, canonical: string])[]

function sortedByName(parts: Named): Named {
  for (let n = 1; n < parts.length; n++) {
    if (parts[n - 1]![0] > parts[n]![0]) return parts.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  }
  return parts
}

/** A constant of the configuration, with its number by exact value as in a body. */
export function constant(value: string | number | boolean): CanonicalValue {
  return typeof value === 'number' ? (decimal(String(value)) ?? value) : value
}

/** `Array.isArray` forgets that a list may be readonly. */
export function isList(value: CanonicalValue): value is readonly CanonicalValue[] {
  return Array.isArray(value)
}

function encodeArray(array: readonly CanonicalValue[]): string {
  let text = arrayHead(array.length)
  for (const value of array) text += encode(value)
  return text
}

function encodeObject(object: JsonObject): string {
  const keys = sortedKeys(object)
  let text = objectHead(keys.length)
  for (const key of keys) text += encodeString(key) + encode(object[key]!)
  return text
}

/** Bytes count by length and SHA-256: the text must stay text. */
function encodeBytes(bytes: Uint8Array): string {
  return `b${bytes.length}:${hash('sha256', bytes, 'base64url')}`
}
