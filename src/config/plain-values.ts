// Reading a document of which nothing is known to be right.
import type { Place } from './mistakes.ts'

export type Mapping = Readonly<Record<string, unknown>>

/** What stands at a place, own properties only. */
export function valueAt(root: unknown, place: Place): unknown {
  let value = root
  for (const step of place) {
    if (Array.isArray(value)) value = asList(value)[Number(step)]
    else if (isMapping(value) && Object.hasOwn(value, step)) value = value[step]
    else return undefined
  }
  return value
}

export function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function asMapping(value: unknown): Mapping {
  return isMapping(value) ? value : {}
}

/** A list, or one entry standing for a list of one. */
export function asList(value: unknown): unknown[] {
  return value === undefined ? [] : Array.isArray(value) ? Array.from<unknown>(value) : [value]
}

export function asTexts(value: unknown): string[] {
  return asList(value).filter((entry) => typeof entry === 'string')
}
