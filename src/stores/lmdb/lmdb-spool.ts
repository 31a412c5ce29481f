// The spool on LMDB: results that wait on disk for their store, in one folder for every process on the machine.
import { mkdirSync } from 'node:fs'
import type { Database, RootDatabase } from 'lmdb'
import { open } from 'lmdb'
import type { Spool, SpooledResult } from '../spool.ts'
import { commit, DURABLE, inTransaction } from './environment.ts'

/** What a result takes besides its body: headers, names, the pages they lie on. */
const OVERHEAD_BYTES = 4096
const NO_BYTES = Buffer.alloc(0)

/** Without its bodies, which lie beside it in one: first the unsure piece, then the rest. */
interface Entry {
  readonly result: SpooledResult
  readonly unsureBytes: number
  readonly bytes: number
}

/** A process that has ended leaves nothing behind that another one could not settle: whoever comes first does. */
export class LmdbSpool implements Spool {
  readonly #root: RootDatabase
  /** By execution, whose names are in the order of time. */
  readonly #entries: Database<Entry, string>
  readonly #bodies: Database<Buffer, string>
  /** Fingerprint → the executions whose results are held. */
  readonly #names: Database<readonly string[], string>
  readonly #totals: Database<number, string>
  readonly #maxBytes: number

  constructor(directory: string, maxBytes: number) {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    this.#root = open({ path: directory, noSubdir: false, maxDbs: 8, ...DURABLE })
    this.#entries = this.#root.openDB<Entry, string>('results', { encoding: 'msgpack' })
    this.#bodies = this.#root.openDB<Buffer, string>('bodies', { encoding: 'binary' })
    this.#names = this.#root.openDB<readonly string[], string>('names', { encoding: 'msgpack' })
    this.#totals = this.#root.openDB<number, string>('totals', { encoding: 'msgpack' })
    this.#maxBytes = maxBytes
  }

  put(result: SpooledResult): Promise<'kept' | 'full'> {
    const { fingerprint, executionId, response } = result.settle
    const unsure = result.unsure?.chunk ?? NO_BYTES
    const rest = response?.body ?? NO_BYTES
    const bytes = unsure.length + rest.length + OVERHEAD_BYTES
    return commit(this.#root, () => {
      if (this.#entries.doesExist(executionId)) return 'kept'
      const total = (this.#totals.get('bytes') ?? 0) + bytes
      if (total > this.#maxBytes) return 'full'
      inTransaction(this.#totals.put('bytes', total))
      inTransaction(this.#entries.put(executionId, { result: withoutBodies(result), unsureBytes: unsure.length, bytes }))
      inTransaction(this.#bodies.put(executionId, Buffer.concat([unsure, rest])))
      inTransaction(this.#names.put(fingerprint, [...(this.#names.get(fingerprint) ?? []), executionId]))
      return 'kept'
    })
  }

  get(executionId: string): SpooledResult | undefined {
    this.#root.resetReadTxn()
    const entry = this.#entries.get(executionId)
    if (entry === undefined) return undefined
    const { settle, unsure } = entry.result
    const bytes = this.#bodies.getBinary(executionId) ?? NO_BYTES
    const body = bytes.subarray(entry.unsureBytes)
    return {
      ...entry.result,
      settle: settle.response === undefined ? settle : { ...settle, response: { ...settle.response, body } },
      unsure: unsure && { ...unsure, chunk: bytes.subarray(0, entry.unsureBytes) },
    }
  }

  remove(executionId: string): Promise<void> {
    return commit(this.#root, () => {
      const entry = this.#entries.get(executionId)
      if (entry === undefined) return
      const { fingerprint } = entry.result.settle
      const others = (this.#names.get(fingerprint) ?? []).filter((name) => name !== executionId)
      inTransaction(this.#entries.remove(executionId))
      inTransaction(this.#bodies.remove(executionId))
      inTransaction(others.length === 0 ? this.#names.remove(fingerprint) : this.#names.put(fingerprint, others))
      inTransaction(this.#totals.put('bytes', Math.max(0, (this.#totals.get('bytes') ?? 0) - entry.bytes)))
    })
  }

  heldFor(fingerprints: readonly string[]): readonly string[] {
    this.#root.resetReadTxn()
    return fingerprints.flatMap((fingerprint) => this.#names.get(fingerprint) ?? [])
  }

  oldest(limit: number, after = ''): readonly string[] {
    this.#root.resetReadTxn()
    const start = after === '' ? {} : { start: after, exclusiveStart: true }
    return [...this.#entries.getKeys({ ...start, limit })]
  }

  count(): number {
    this.#root.resetReadTxn()
    return (this.#entries.getStats() as { entryCount: number }).entryCount
  }

  async look(): Promise<void> {}

  close(): Promise<void> {
    return this.#root.close()
  }
}

function withoutBodies({ rule, settle, unsure }: SpooledResult): SpooledResult {
  const { response } = settle
  return {
    rule,
    settle: response === undefined ? settle : { ...settle, response: { ...response, body: NO_BYTES } },
    unsure: unsure && { ...unsure, chunk: NO_BYTES },
  }
}
