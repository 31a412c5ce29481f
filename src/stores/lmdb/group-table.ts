// Exclusive groups on disk: what the verbs change of them, inside their transactions.
import { groupOf } from '../../model/group.ts'
import type { AcquireRequest, ExecutionName } from '../store.ts'
import { enter, type Entrance, type Group, isEmpty, isOver, left, nextOf, NO_GROUP, renewed, settled } from '../groups.ts'
import type { KeptRecord } from '../transitions.ts'
import type { Environment } from './environment.ts'
import { inTransaction } from './environment.ts'

/** What the group says to an acquire that would be granted, as of this reading; undefined where the fact has no group. */
export function look(
  environment: Environment,
  fingerprint: string,
  { record, request, now }: { record: KeptRecord | undefined; request: AcquireRequest; now: number },
): Entrance | undefined {
  const { exclusive } = request
  return exclusive === undefined ? undefined : enter(groupAt(environment, fingerprint), { fingerprint, record, request, exclusive }, now)
}

export function writeGroup({ groups }: Environment, fingerprint: string, group: Group | undefined): void {
  const name = groupOf(fingerprint)
  if (name === undefined || group === undefined) return
  inTransaction(isEmpty(group) ? groups.remove(name) : groups.put(name, group))
}

export function keepGroup(environment: Environment, { fingerprint, executionId }: ExecutionName, until: number): void {
  if (groupOf(fingerprint) === undefined) return
  writeGroup(environment, fingerprint, renewed(groupAt(environment, fingerprint), executionId, until))
}

export function freeGroup(
  environment: Environment,
  fingerprint: string,
  change: { before: KeptRecord; after: KeptRecord },
  now: number,
): void {
  if (groupOf(fingerprint) === undefined) return
  writeGroup(environment, fingerprint, settled(groupAt(environment, fingerprint), change, now))
}

export function leaveGroup(environment: Environment, { fingerprint, executionId }: ExecutionName, now: number): void {
  writeGroup(environment, fingerprint, left(groupAt(environment, fingerprint), executionId, now))
}

/** A record of the group is gone: if it was the last that held it or waited, so is the group. */
export function sweepGroup(environment: Environment, fingerprint: string, now: number): void {
  const name = groupOf(fingerprint)
  if (name !== undefined && isOver(groupAt(environment, fingerprint), now)) inTransaction(environment.groups.remove(name))
}

/** Whose turn it is in this fingerprint's group. */
export function firstInGroup(environment: Environment, fingerprint: string, now: number): string | undefined {
  return groupOf(fingerprint) === undefined ? undefined : nextOf(groupAt(environment, fingerprint), now)?.fingerprint
}

function groupAt({ groups }: Environment, fingerprint: string): Group {
  const name = groupOf(fingerprint)
  return (name === undefined ? undefined : groups.get(name)) ?? NO_GROUP
}
