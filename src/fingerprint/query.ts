// A query string as names with their values: decoded, grouped by name, in the order of equal names.
import type { CanonicalValue } from './canonical.ts'
import { percentDecode, toAscii } from './percent.ts'

export interface QueryGroup {
  /** As it compares: text, or the raw bytes where the name is not valid percent-encoding. */
  readonly name: string | Buffer
  readonly values: CanonicalValue[]
}

/** By the name's spelling with its type; iterates in the order of the first of each name. */
export type Query = ReadonlyMap<string, QueryGroup>

const NO_QUERY: Query = new Map()
const NO_GROUPS: readonly QueryGroup[] = []

/** Pairs as the URL standard reads forms: `&` between, the first `=` inside, `+` is a space, `a` and `a=` are the same. */
export function parseQuery(query: string | undefined): Query {
  if (query === undefined || query === '') return NO_QUERY
  const groups = new Map<string, QueryGroup>()
  for (const pair of toAscii(query).split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = component(equals === -1 ? pair : pair.slice(0, equals))
    const value = component(equals === -1 ? '' : pair.slice(equals + 1))
    const key = groupKey(name)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, { name, values: [value] })
    else group.values.push(value)
  }
  return groups
}

export function queryValues(query: Query, name: string): readonly CanonicalValue[] {
  return query.get(groupKey(name))?.values ?? []
}

/** The groups without the order of different names. */
export function sortedGroups(query: Query): readonly QueryGroup[] {
  if (query.size === 0) return NO_GROUPS
  return [...query].toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([, group]) => group)
}

/** What is not valid stays what it is, as bytes: no text is equal to bytes. */
function component(raw: string): string | Buffer {
  const text = raw.includes('+') ? raw.replaceAll('+', ' ') : raw
  return percentDecode(text) ?? Buffer.from(raw, 'latin1')
}

function groupKey(name: string | Buffer): string {
  return typeof name === 'string' ? `s${name}` : `b${name.toString('latin1')}`
}
