// Finds expired records by time and removes them in small batches, and the pieces of dropped logs with them.
import { remembered } from '../transitions.ts'
import { dropAnswer } from './bodies.ts'
import type { Environment, LmdbRecord } from './environment.ts'
import { inTransaction } from './environment.ts'
import { sweepGroup } from './group-table.ts'
import { AT_ONCE, removePieces } from './pieces.ts'

const BATCH = 500
/** How much later than its end a record may be looked at: saves rewriting the index at each settle. */
const LATENESS_MS = 10 * 60_000

/**
 * Gives the record its place in the index, inside a transaction. One entry per record is enough, at a time no earlier
 * than is worth looking: where the record's end has moved later by then, the sweep moves the entry.
 */
export function index({ expiry }: Environment, fingerprint: string, record: LmdbRecord): LmdbRecord {
  const { indexedAt, expiresAt } = record
  if (expiresAt === Infinity || (indexedAt !== 0 && indexedAt <= expiresAt + LATENESS_MS)) return record
  if (indexedAt !== 0) inTransaction(expiry.remove([indexedAt, fingerprint]))
  inTransaction(expiry.put([expiresAt, fingerprint], null))
  return { ...record, indexedAt: expiresAt }
}

/** Removes what is over by now; says whether there may be more. */
export async function sweep(environment: Environment, now: number): Promise<boolean> {
  environment.refresh()
  const due = [...environment.expiry.getKeys({ end: [now, ''], limit: BATCH })]
  if (due.length === 0) return false
  return environment.transaction(() => {
    let left = BATCH
    for (const [at, name] of due) {
      if (left <= 0) return true
      left -= at === AT_ONCE ? dropped(environment, name, left) : look(environment, at, name, now)
    }
    return left <= 0
  })
}

/** Inside a transaction: the record, its answer and its place in the index. */
export function removeRecord(environment: Environment, fingerprint: string, record: LmdbRecord): void {
  const { records, expiry } = environment
  if (record.indexedAt !== 0) inTransaction(expiry.remove([record.indexedAt, fingerprint]))
  inTransaction(records.remove(fingerprint))
  dropNames(environment, fingerprint, record)
  dropAnswer(environment, record)
}

/** Both return what they cost. */
function dropped(environment: Environment, executionId: string, most: number): number {
  // Another sweep may have been here, or the execution have begun to write anew.
  if (!environment.expiry.doesExist([AT_ONCE, executionId])) return 1
  return removePieces(environment, executionId, most) + 1
}

function look(environment: Environment, at: number, fingerprint: string, now: number): number {
  const { records, expiry } = environment
  inTransaction(expiry.remove([at, fingerprint]))
  const record = records.get(fingerprint)
  if (record === undefined) return 1
  if (remembered(record, now) === undefined) {
    inTransaction(records.remove(fingerprint))
    dropNames(environment, fingerprint, record)
    dropAnswer(environment, record)
    sweepGroup(environment, fingerprint, now)
  } else if (record.expiresAt <= now) {
    bury(environment, fingerprint, record)
  } else {
    inTransaction(records.put(fingerprint, index(environment, fingerprint, { ...record, indexedAt: 0 })))
  }
  return 1
}

/** Inside a transaction: the names of a record that is gone belong to nobody, but for those that another has got meanwhile. */
export function dropNames({ names }: Environment, fingerprint: string, record: LmdbRecord): void {
  for (const name of record.names) if (names.get(name) === fingerprint) inTransaction(names.remove(name))
}

/** The record goes on refusing, without its body. */
function bury(environment: Environment, fingerprint: string, record: LmdbRecord): void {
  dropAnswer(environment, record)
  const at = Math.max(record.tombstoneUntil, record.waiter?.until ?? 0)
  inTransaction(environment.expiry.put([at, fingerprint], null))
  const head = record.head && { ...record.head, bodyStored: false }
  inTransaction(environment.records.put(fingerprint, { ...record, head, indexedAt: at }))
}
