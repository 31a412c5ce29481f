// The LMDB environment: one directory, seven sub-databases.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Database, RootDatabase } from 'lmdb'
import { open } from 'lmdb'
import type { Group } from '../groups.ts'
import { RecordTable, type RecordList } from './record-table.ts'

export type { LmdbRecord } from './record-table.ts'

export interface Size {
  /** Pages that hold something. */
  readonly usedBytes: number
  /** It never shrinks: what is free in it is used again. */
  readonly fileBytes: number
}

export interface Environment {
  readonly records: RecordTable
  /**
   * Execution → the body of its answer. Executions are named by time, so that those of one commit lie side by side; by their
   * fingerprints each would have a page of its own to write.
   */
  readonly bodies: Database<Buffer, string>
  /** [execution, offset] → the bytes from there on. */
  readonly pieces: Database<Buffer, [string, number]>
  /** [when to look, fingerprint] → nothing, in the order of time; first of all the executions whose pieces are to go. */
  readonly expiry: Database<null, [number, string]>
  /** Group → who holds it and who waits; none where nobody does. */
  readonly groups: Database<Group, string>
  /** Further name → the fact that it may belong to; the fact's record says whether it does. */
  readonly names: Database<string, string>
  readonly meta: Database<string, string>
  /** The file that every commit writes to. */
  readonly dataFile: string
  /** Runs the action alone among all processes. Resolves when what it wrote is on disk. */
  transaction<T>(action: () => T): Promise<T>
  /** In a transaction as it stands there, else as it was committed. */
  size(): Size
  /** Lets the next reads see what other processes have committed by now. */
  refresh(): void
  close(): Promise<void>
}

export const DURABLE = {
  // A commit is then synced before anyone can read it. With lmdb-js's default it is readable a moment earlier, and a
  // duplicate could be answered from a record that a power cut then takes away. As fast here: commits are batched.
  overlappingSync: false,
  // With it on, a failed commit (disk full) also rejects a promise that only the driver holds, which ends the process.
  eventTurnBatching: false,
}

export function openEnvironment(directory: string): Environment {
  mkdirSync(directory, { recursive: true })
  const root = open({
    path: directory,
    noSubdir: false,
    maxDbs: 12,
    ...DURABLE,
  })
  const records = new RecordTable(root.openDB<RecordList, string>('records', { encoding: 'msgpack' }))
  const bodies = root.openDB<Buffer, string>('bodies', { encoding: 'binary' })
  const pieces = root.openDB<Buffer, [string, number]>('pieces', { encoding: 'binary' })
  const expiry = root.openDB<null, [number, string]>('expiry', { encoding: 'ordered-binary' })
  const groups = root.openDB<Group, string>('groups', { encoding: 'msgpack' })
  const names = root.openDB<string, string>('names', { encoding: 'string' })
  return {
    records,
    bodies,
    pieces,
    expiry,
    groups,
    names,
    meta: root.openDB<string, string>('meta', { encoding: 'string' }),
    dataFile: join(directory, 'data.mdb'),
    transaction: (action) => commit(root, action),
    size: () => sizeOf([records, bodies, pieces, expiry, groups, names]),
    refresh: () => root.resetReadTxn(),
    close: () => root.close(),
  }
}

/** What the driver tells of one tree; of the file, too. */
interface Stats {
  readonly pageSize: number
  readonly treeBranchPageCount: number
  readonly treeLeafPageCount: number
  readonly overflowPages: number
}

function sizeOf(trees: readonly { getStats(): object }[]): Size {
  const all = trees.map((tree) => tree.getStats() as Stats & { lastPageNumber: number; free: Stats })
  const { pageSize, lastPageNumber, free } = all[0]!
  const pages = [...all, free].reduce((sum, one) => sum + one.treeBranchPageCount + one.treeLeafPageCount + one.overflowPages, 0)
  return { usedBytes: pages * pageSize, fileBytes: (lastPageNumber + 1) * pageSize }
}

/** Runs the action alone among all processes. Resolves when what it wrote is on disk. */
export async function commit<T>(root: RootDatabase, action: () => T): Promise<T> {
  try {
    return await root.transaction(action)
  } catch (error) {
    // The driver tells why (disk full) by a second promise, rejected a moment later: unawaited, it would end the process.
    if (error instanceof Error && 'commitError' in error) await error.commitError
    throw error
  }
}

/** A write inside a transaction. Whether it is kept, the transaction's promise says; its own must not go unheard. */
export function inTransaction(write: Promise<boolean>): void {
  write.then(undefined, () => undefined)
}
