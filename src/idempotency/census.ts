// Which outcomes are unknown, and what runs elsewhere: learned from what passes by, and from slow passes through the store.
import { setTimeout as pause } from 'node:timers/promises'
import type { RecordView } from '../model/record.ts'
import type { AcquireRequest, Claim, ExecutionName, SettleRequest, Store } from '../stores/store.ts'

/** Names kept; beyond that it only says that there are as many. */
const MOST = 10_000
const MOST_RUNNING = 200
const STEP = 100
/** A pass rests so many times longer than its steps take: it has no more than a fiftieth of the store's time. */
const REST = 50
const LEAST_REST_MS = 20
const FIRST_PASS_MS = 1000
const PASS_EVERY_MS = 60_000
/** What is known is looked at again, so many at a time: somebody else may have resolved it. */
const LOOK_AGAIN = 50
const LOOK_EVERY_MS = 3000

export class Census {
  /** By name; a value once the record itself was read. Whoever was looked at last stands last. */
  readonly #unknown = new Map<string, RecordView | undefined>()
  readonly #running = new Map<string, RecordView>()
  readonly #store: Store
  readonly #onCount: (unknown: number) => void
  readonly #stopping = new AbortController()
  /** When the latest whole pass ended, and how many records it found; milliseconds since 1970. */
  lastPass: { readonly at: number; readonly records: number } | undefined

  constructor(store: Store, onCount: (unknown: number) => void) {
    this.#store = store
    this.#onCount = onCount
  }

  get count(): number {
    return this.#unknown.size
  }

  /** Those that were read lately, in no order. */
  get unknown(): readonly RecordView[] {
    return [...this.#unknown.values()].filter((record) => record !== undefined)
  }

  /** Executions that the store knows of, of whatever gateway. */
  get running(): readonly RecordView[] {
    return [...this.#running.values()]
  }

  start(): void {
    void this.#forEver(FIRST_PASS_MS, PASS_EVERY_MS, () => this.#pass())
    void this.#forEver(LOOK_EVERY_MS, LOOK_EVERY_MS, () => this.lookAgain())
  }

  stop(): void {
    this.#stopping.abort()
  }

  /** Of each acquire that was answered. */
  acquired(_request: AcquireRequest, claim: Claim): void {
    if (claim.kind === 'unknown') this.#found(claim.record)
    else if (claim.kind === 'acquired' && claim.after === 'unknown') this.forget(claim.fingerprint)
  }

  /** Of each settling that was taken. */
  settled({ fingerprint, to }: SettleRequest): void {
    if (to === 'unknown') this.#keep(fingerprint, undefined)
    else if (this.#unknown.size > 0) this.forget(fingerprint)
  }

  forget(fingerprint: string): void {
    if (this.#unknown.delete(fingerprint)) this.#onCount(this.#unknown.size)
  }

  /** Reads what is known once more, those first that were not looked at for the longest. Rejects with StoreUnavailable. */
  async lookAgain(): Promise<void> {
    const names = [...this.#first(this.#unknown), ...this.#first(this.#running)]
    for (const fingerprint of names) {
      const record = await this.#store.read(fingerprint)
      if (record === undefined) this.#gone({ fingerprint })
      else this.#found(record)
    }
  }

  #knows({ fingerprint }: RecordView): boolean {
    return this.#unknown.has(fingerprint) || this.#running.has(fingerprint)
  }

  #first(from: ReadonlyMap<string, unknown>): string[] {
    return [...from.keys()].slice(0, LOOK_AGAIN)
  }

  #found(record: RecordView): void {
    const { fingerprint, status } = record
    if (status === 'processing') {
      this.#running.delete(fingerprint)
      if (this.#running.size < MOST_RUNNING) this.#running.set(fingerprint, record)
      this.forget(fingerprint)
    } else if (status === 'unknown') {
      this.#running.delete(fingerprint)
      this.#keep(fingerprint, record)
    } else {
      this.#gone(record)
    }
  }

  #gone({ fingerprint }: Pick<ExecutionName, 'fingerprint'>): void {
    this.#running.delete(fingerprint)
    this.forget(fingerprint)
  }

  #keep(fingerprint: string, record: RecordView | undefined): void {
    this.#unknown.delete(fingerprint)
    if (this.#unknown.size < MOST) this.#unknown.set(fingerprint, record)
    this.#onCount(this.#unknown.size)
  }

  async #pass(): Promise<void> {
    let cursor: string | undefined
    let records = 0
    do {
      const since = performance.now()
      const page = await this.#store.list({ cursor, limit: STEP })
      for (const record of page.records) if (isOpen(record) || this.#knows(record)) this.#found(record)
      records += page.records.length
      cursor = page.cursor
      if (cursor !== undefined) await this.#rest(Math.max(LEAST_REST_MS, REST * (performance.now() - since)))
    } while (cursor !== undefined)
    this.lastPass = { at: Date.now(), records }
  }

  /** A store that is out of reach is asked again the next time. */
  async #forEver(firstMs: number, everyMs: number, work: () => Promise<void>): Promise<void> {
    try {
      for (let restMs = firstMs; ; restMs = everyMs) {
        await this.#rest(restMs)
        await work().catch(() => undefined)
      }
    } catch {
      // Stopped.
    }
  }

  /** Rejects once it is stopped. */
  #rest(ms: number): Promise<void> {
    return pause(ms, undefined, { ref: false, signal: this.#stopping.signal })
  }
}

function isOpen({ status }: RecordView): boolean {
  return status === 'processing' || status === 'unknown'
}
