// Further names as pure functions: whose they are, and what a record adds to its own (G17 of store.ts).
import { type AcquireRequest, MOST_NAMES } from './store.ts'

interface Named {
  readonly names: readonly string[]
}

/** Where names are looked up. What the index says may be out of date: the record tells. */
export interface NameIndex {
  /** The fact that the name may belong to. */
  readonly owner: (name: string) => string | undefined
  /** The record of a fact, where it lives. */
  readonly living: (fingerprint: string) => Named | undefined
}

/** The places of the request's further names that belong to another fact. */
export function namesOfOthers({ fingerprint, aliases, unique }: AcquireRequest, { owner, living }: NameIndex): number[] {
  const isOthers = (name: string): boolean => {
    const other = owner(name)
    if (other === undefined || other === fingerprint || aliases?.includes(other)) return false
    return living(other)?.names.includes(name) ?? false
  }
  return (unique?.names ?? []).flatMap((name, place) => (isOthers(name) ? [place] : []))
}

/** The record with the names that the request brings; the same where there is none to add. */
export function withNames<R extends Named>(record: R, { unique }: AcquireRequest): R {
  const added = unique?.names.filter((name) => !record.names.includes(name)) ?? []
  if (added.length === 0 || record.names.length >= MOST_NAMES) return record
  return { ...record, names: [...record.names, ...added].slice(0, MOST_NAMES) }
}
