// Opens the spool of a store: on disk only from the first result on, and one for each store that shares the folder.
import { hash } from 'node:crypto'
import { accessSync, constants, existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Spool, SpooledResult } from './spool.ts'

export interface SpoolOptions {
  readonly folder: string
  readonly maxBytes: number
  /** The store that the results belong to. */
  readonly store: string
  readonly warn: (message: string) => void
}

const NONE: readonly string[] = []

/** What needs no server keeps its results itself: there the spool would be the same disk, or nothing would outlive the process. */
export function needsSpool(store: string): boolean {
  return !/^(?:lmdb|memory):/.test(store)
}

/** Results that an earlier process has left are there at once. */
export async function openSpool(options: SpoolOptions): Promise<Spool> {
  const spool = new LazySpool(join(options.folder, nameOf(options.store)), options.maxBytes)
  warnWhereNotWritable(options)
  await spool.look()
  return spool
}

/** The same for all who share the store, whatever their credentials; says nothing of it. */
function nameOf(store: string): string {
  const place = store.replace(/\/\/[^/@]*@/, '//').replace(/[?&](?!schema=)[^&]*/g, '')
  return hash('sha256', place, 'hex').slice(0, 16)
}

/** When the store goes away is too late to learn it. */
function warnWhereNotWritable({ folder, warn }: SpoolOptions): void {
  let at = resolve(folder)
  while (!existsSync(at) && dirname(at) !== at) at = dirname(at)
  try {
    accessSync(at, constants.W_OK)
  } catch {
    warn(`the spool cannot be written, so a result that the store cannot take in time may be lost: ${folder}`)
  }
}

class LazySpool implements Spool {
  readonly #directory: string
  readonly #maxBytes: number
  #opening: Promise<Spool> | undefined
  #spool: Spool | undefined
  #closed = false

  constructor(directory: string, maxBytes: number) {
    this.#directory = directory
    this.#maxBytes = maxBytes
  }

  async put(result: SpooledResult): Promise<'kept' | 'full'> {
    return (await this.#open()).put(result)
  }

  get(executionId: string): SpooledResult | undefined {
    return this.#spool?.get(executionId)
  }

  async remove(executionId: string): Promise<void> {
    await this.#spool?.remove(executionId)
  }

  heldFor(fingerprints: readonly string[]): readonly string[] {
    return this.#spool?.heldFor(fingerprints) ?? NONE
  }

  oldest(limit: number, after?: string): readonly string[] {
    return this.#spool?.oldest(limit, after) ?? NONE
  }

  count(): number {
    return this.#spool?.count() ?? 0
  }

  async look(): Promise<void> {
    if (this.#spool === undefined && existsSync(this.#directory)) await this.#open()
  }

  async close(): Promise<void> {
    this.#closed = true
    await (await this.#opening?.catch(() => undefined))?.close()
  }

  async #open(): Promise<Spool> {
    if (this.#closed) throw new Error('the spool is closed')
    this.#opening ??= this.#load()
    try {
      return await this.#opening
    } catch (error) {
      // The disk may have room another time.
      this.#opening = undefined
      throw error
    }
  }

  async #load(): Promise<Spool> {
    const { LmdbSpool } = await import('./lmdb/lmdb-spool.ts')
    this.#spool = new LmdbSpool(this.#directory, this.#maxBytes)
    return this.#spool
  }
}
