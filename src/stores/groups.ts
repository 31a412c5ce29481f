// Exclusive groups as pure functions: who may execute, who waits, and in which order (G13 of store.ts).
import type { AcquireRequest, Claim, Exclusive } from './store.ts'
import { type KeptRecord, viewOf, wait } from './transitions.ts'

export interface Group {
  readonly holder: Holder | undefined
  /** In the order in which they came. */
  readonly waiters: readonly Waiter[]
}

export interface Holder {
  readonly executionId: string
  readonly since: number
  /** With the lease of its execution. */
  readonly until: number
}

export interface Waiter {
  readonly executionId: string
  readonly fingerprint: string
  /** It is given up where its gateway has not asked again by then. */
  readonly until: number
}

export const NO_GROUP: Group = { holder: undefined, waiters: [] }

/** The execution that holds the group, as long as its lease lives. */
export function holderAt({ holder }: Group, now: number): Holder | undefined {
  return holder !== undefined && holder.until > now ? holder : undefined
}

/** The first who waits and lives; `own` lives, since it is asking. */
export function firstInLine({ waiters }: Group, now: number, own?: string): Waiter | undefined {
  return waiters.find(({ executionId, until }) => until > now || executionId === own)
}

/**
 * Whether this execution may begin. One that nobody has heard of keeps its group until its lease ends, but not from a further attempt at
 * the same fact: `record` is the fact's.
 */
export function isFree(group: Group, executionId: string, { record, now }: { record: KeptRecord | undefined; now: number }): boolean {
  const holder = holderAt(group, now)
  if (holder !== undefined) return holder.executionId === executionId || holder.executionId === record?.executionId
  const first = firstInLine(group, now, executionId)
  return first === undefined || first.executionId === executionId
}

/** What a group says to an acquire that would be granted; what is there is to be written. */
export type Entrance =
  | { readonly claim: undefined; readonly group: Group; readonly record?: undefined }
  | { readonly claim: Claim; readonly group?: Group; readonly record?: KeptRecord }

export interface Entering {
  readonly fingerprint: string
  readonly record: KeptRecord | undefined
  readonly request: AcquireRequest
  readonly exclusive: Exclusive
}

export function enter(group: Group, { fingerprint, record, request, exclusive }: Entering, now: number): Entrance {
  const { executionId, leaseMs } = request
  if (isFree(group, executionId, { record, now }))
    return { claim: undefined, group: taken(group, { executionId, since: now, until: now + leaseMs }) }
  const heldMs = now - (holderAt(group, now)?.since ?? now)
  if (exclusive.whenBusy === 'refuse') return { claim: { kind: 'busy', heldMs } }
  const until = now + exclusive.placeMs
  const known = group.waiters.find((waiter) => waiter.executionId === executionId)
  // A place is good for a while: not every question has to be written down.
  if (known !== undefined && known.until - now > exclusive.placeMs / 2 && record?.waiter?.executionId === executionId)
    return { claim: { kind: 'pending', record: viewOf(fingerprint, record, now), heldMs } }
  const waiting = wait(record, request, until, now)
  return {
    claim: { kind: 'pending', record: viewOf(fingerprint, waiting, now), heldMs },
    group: joined(group, { executionId, fingerprint, until }, now),
    record: waiting,
  }
}

export function taken(group: Group, holder: Holder): Group {
  return { holder, waiters: without(group.waiters, holder.executionId, holder.since) }
}

/** With this one in its place in the line, or at the end. */
export function joined(group: Group, waiter: Waiter, now: number): Group {
  const place = group.waiters.findIndex(({ executionId }) => executionId === waiter.executionId)
  const waiters = place < 0 ? [...without(group.waiters, '', now), waiter] : group.waiters.with(place, waiter)
  return { ...group, waiters }
}

/** Without this execution, whether it held the group or waited for it. */
export function left(group: Group, executionId: string, now: number): Group {
  return {
    holder: group.holder?.executionId === executionId ? undefined : holderAt(group, now),
    waiters: without(group.waiters, executionId, now),
  }
}

/** With the lease of its execution, and only by that. */
export function renewed(group: Group, executionId: string, until: number): Group {
  const { holder } = group
  return holder?.executionId === executionId ? { ...group, holder: { ...holder, until } } : group
}

/** A known end frees the group. Of an unknown one nobody knows whether the upstream is still at it: the lease is its time to end. */
export function settled(group: Group, { before, after }: { before: KeptRecord; after: KeptRecord }, now: number): Group {
  const waiter = before.waiter?.executionId
  const rest = waiter === undefined || after.waiter !== undefined ? group : left(group, waiter, now)
  return after.status === 'unknown' ? rest : left(rest, after.executionId, now)
}

/** Whose turn it is. */
export function nextOf(group: Group, now: number): Waiter | undefined {
  return holderAt(group, now) === undefined ? firstInLine(group, now) : undefined
}

/** Nobody holds it, and nobody waits who lives. */
export function isOver(group: Group, now: number): boolean {
  return holderAt(group, now) === undefined && firstInLine(group, now) === undefined
}

export function isEmpty({ holder, waiters }: Group): boolean {
  return holder === undefined && waiters.length === 0
}

function without(waiters: readonly Waiter[], own: string, now: number): readonly Waiter[] {
  return waiters.filter(({ executionId, until }) => executionId !== own && until > now)
}
