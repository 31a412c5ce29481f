// The store on LMDB: every process on one machine that opens the same directory agrees.
import { groupOf } from '../../model/group.ts'
import type { RecordView } from '../../model/record.ts'
import type { KeptResponse } from '../../model/stored-response.ts'
import { withDeadline } from '../deadline.ts'
import type { StoreOptions } from '../store-options.ts'
import type {
  AcquireRequest,
  AppendRequest,
  Claim,
  ExecutionName,
  ListRequest,
  LogReading,
  LogRequest,
  RecordsPage,
  RenewRequest,
  SettleRequest,
  SettleResult,
  Store,
} from '../store.ts'
import { StoreFull, StoreUnavailable } from '../store.ts'
import { namesOfOthers, withNames } from '../further-names.ts'
import type { Decided, Refusal } from '../transitions.ts'
import { refusalClaim } from '../refusal-claim.ts'
import {
  append,
  cancel,
  checkSettle,
  decideAcquire,
  grant,
  isDuplicate,
  isRemovable,
  living,
  readLog,
  remembered,
  renew,
  settle,
  viewOf,
  withdraw,
} from '../transitions.ts'
import { dropAnswer, inlineBody, keepBody, readBytes, withoutBody } from './bodies.ts'
import { ChangeFeed } from './change-feed.ts'
import { DuplicateCounts } from './duplicate-counts.ts'
import type { Environment, LmdbRecord } from './environment.ts'
import { inTransaction, openEnvironment } from './environment.ts'
import { dropNames, index, removeRecord, sweep } from './expiry.ts'
import { firstInGroup, freeGroup, keepGroup, leaveGroup, look, writeGroup } from './group-table.ts'
import { dropPieces, writePieces } from './pieces.ts'
import { Space } from './space.ts'
import { watchedState } from './watched-state.ts'

const SWEEP_EVERY_MS = 2000
const NOTHING = Buffer.alloc(0)

/**
 * One machine has one clock: leases and expiry are by Date.now(). What changes the record runs in a write transaction,
 * alone among all processes, and is on disk before it is answered; what changes nothing is answered from a reading.
 */
export class LmdbStore implements Store {
  readonly #environment: Environment
  readonly #space: Space
  readonly #timeoutMs: number
  readonly #warn: (message: string) => void
  readonly #changes: ChangeFeed
  readonly #duplicates: DuplicateCounts
  readonly #sweeper: NodeJS.Timeout
  #sweeping = false
  #closed = false

  constructor(directory: string, { timeoutMs, warn, maxBytes }: StoreOptions & { readonly maxBytes?: number | undefined }) {
    this.#environment = openEnvironment(directory)
    this.#space = new Space(this.#environment, { directory, maxBytes, warn })
    this.#timeoutMs = timeoutMs
    this.#warn = warn
    this.#duplicates = new DuplicateCounts(this.#environment)
    this.#changes = new ChangeFeed(this.#environment.dataFile, (fingerprint) => watchedState(this.#environment, fingerprint))
    this.#sweeper = setInterval(() => void this.#sweep(), SWEEP_EVERY_MS).unref()
  }

  async acquire(request: AcquireRequest): Promise<Claim> {
    // Most duplicates are decided by a reading: a refusal changes nothing, and as of this moment it is right.
    const refused = this.#reading('acquire', (): Claim | undefined => {
      const now = Date.now()
      const places = this.#namesOfOthers(request, now)
      if (places.length > 0) return { kind: 'name_used', places }
      const { fingerprint, record, decision } = this.#decide(request, now)
      if (typeof decision === 'object') {
        // One who waits asks again and again: that writes only where there is something new.
        const entrance = look(this.#environment, fingerprint, { record, request, now })
        return entrance?.group === undefined ? entrance?.claim : undefined
      }
      if (record === undefined || (decision !== 'key_reused' && withNames(record, request) !== record)) return undefined
      return this.#refuse(decision, request, { fingerprint, record }, now)
    })
    if (refused !== undefined) return refused
    if (!this.#space.mayGrant()) {
      // Whatever is over makes room now.
      void this.#sweep()
      throw new StoreFull('acquire')
    }
    return this.#writing('acquire', () => this.#acquire(request))
  }

  renew(request: RenewRequest): Promise<SettleResult | 'cancelled'> {
    return this.#writing('renew', () => {
      const now = Date.now()
      const renewed = renew(this.#living(request.fingerprint, now), request, now)
      if (renewed === undefined) return 'stale'
      this.#put(request.fingerprint, renewed)
      keepGroup(this.#environment, request, renewed.leaseUntil)
      return renewed.cancelled ? 'cancelled' : 'ok'
    })
  }

  cancel(request: ExecutionName): Promise<SettleResult> {
    return this.#writing('cancel', () => {
      const now = Date.now()
      const cancelled = cancel(this.#living(request.fingerprint, now), request, now)
      if (cancelled === undefined) return 'stale'
      this.#put(request.fingerprint, cancelled)
      return 'ok'
    })
  }

  async settle(request: SettleRequest): Promise<SettleResult> {
    checkSettle(request)
    const result = await this.#writing('settle', () => this.#settle(request))
    if (result === 'ok') this.#changes.changedHere(request.fingerprint)
    if (result === 'ok') this.#callFirst(request.fingerprint)
    return result
  }

  async append(request: AppendRequest): Promise<SettleResult> {
    const result = await this.#writing('append', () => this.#append(request))
    if (result === 'ok') this.#changes.changedHere(request.fingerprint)
    return result
  }

  async readLog(request: LogRequest): Promise<LogReading> {
    return this.#reading('readLog', () => {
      const now = Date.now()
      const record = this.#living(request.fingerprint, now)
      // The pieces are of the same snapshot as the record.
      return readLog(record, request, { now, read: () => readBytes(this.#environment, record!, request) })
    })
  }

  async read(fingerprint: string): Promise<RecordView | undefined> {
    return this.#reading('read', () => {
      const now = Date.now()
      const record = remembered(this.#environment.records.get(fingerprint), now)
      return record && this.#view(fingerprint, record, now)
    })
  }

  async list({ cursor, limit }: ListRequest): Promise<RecordsPage> {
    return this.#reading('list', () => {
      const now = Date.now()
      const rows = this.#environment.records.after(cursor, limit)
      const records = rows.flatMap(([fingerprint, record]) =>
        living(record, now) === undefined ? [] : [this.#view(fingerprint, record, now)],
      )
      return { records, cursor: rows.length < limit ? undefined : rows.at(-1)?.[0] }
    })
  }

  remove(request: ExecutionName): Promise<SettleResult> {
    return this.#writing('remove', () => {
      const now = Date.now()
      const record = remembered(this.#environment.records.get(request.fingerprint), now)
      if (record === undefined || !isRemovable(record, request, now)) return 'stale'
      removeRecord(this.#environment, request.fingerprint, record)
      return 'ok'
    })
  }

  async readResponse(fingerprint: string): Promise<KeptResponse | undefined> {
    return this.#reading('readResponse', () => {
      const record = this.#living(fingerprint, Date.now())
      return record?.head && { head: record.head, body: inlineBody(this.#environment, record) }
    })
  }

  async watch(fingerprint: string, onChange: () => void): Promise<() => void> {
    return this.#reading('watch', () => this.#changes.watch(fingerprint, onChange))
  }

  async secret(candidate: string): Promise<string> {
    const { meta } = this.#environment
    return this.#writing('secret', () => {
      const kept = meta.get('secret')
      if (kept === undefined) inTransaction(meta.put('secret', candidate))
      return kept ?? candidate
    })
  }

  async ping(): Promise<void> {
    this.#reading('ping', () => this.#environment.meta.get('secret'))
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearInterval(this.#sweeper)
    this.#duplicates.stop()
    this.#changes.close()
    await withDeadline('close', this.#timeoutMs, this.#duplicates.flush()).catch(() => undefined)
    await withDeadline('close', this.#timeoutMs, this.#environment.close())
  }

  #acquire(request: AcquireRequest): Claim {
    const now = Date.now()
    const places = this.#namesOfOthers(request, now)
    if (places.length > 0) return { kind: 'name_used', places }
    const { fingerprint, kept, record, decision } = this.#decide(request, now)
    if (typeof decision !== 'object') {
      if (record === undefined) throw new TypeError('a refusal without a record')
      if (decision !== 'key_reused') this.#name(fingerprint, withNames(record, request), request)
      return this.#refuse(decision, request, { fingerprint, record }, now)
    }
    const entrance = look(this.#environment, fingerprint, { record, request, now })
    writeGroup(this.#environment, fingerprint, entrance?.group)
    if (entrance?.claim !== undefined) {
      if (entrance.record !== undefined) this.#name(fingerprint, { ...entrance.record, indexedAt: kept?.indexedAt ?? 0 }, request)
      return entrance.claim
    }
    if (kept !== undefined) dropAnswer(this.#environment, kept, request.executionId)
    if (kept !== undefined) dropNames(this.#environment, fingerprint, kept)
    // An expired record that is not swept yet leaves its place in the index.
    this.#name(fingerprint, { ...grant(record, request, decision, now), indexedAt: kept?.indexedAt ?? 0 }, request)
    return decision
  }

  #namesOfOthers(request: AcquireRequest, now: number): number[] {
    if (request.unique === undefined) return []
    const { names } = this.#environment
    return namesOfOthers(request, { owner: (name) => names.get(name), living: (fingerprint) => this.#living(fingerprint, now) })
  }

  /** Inside a transaction: writes the record, and that its names are its own. */
  #name(fingerprint: string, record: LmdbRecord, { unique }: AcquireRequest): void {
    this.#put(fingerprint, record)
    if (unique !== undefined) for (const name of record.names) inTransaction(this.#environment.names.put(name, fingerprint))
  }

  #settle(request: SettleRequest): SettleResult {
    const { fingerprint } = request
    const now = Date.now()
    const record = remembered(this.#environment.records.get(fingerprint), now)
    const without = withdraw(record, request)
    if (without !== undefined) return this.#withdraw(request, without, now)
    const settled = settle(record, request, now)
    if (typeof settled === 'string') return settled
    // A settling without a body finds room where nothing else does.
    if (request.response !== undefined && !this.#space.mayKeep(request.response.body.length)) return this.#settle(withoutBody(request))
    this.#put(fingerprint, settled)
    keepBody(this.#environment, record!, settled, request)
    freeGroup(this.#environment, fingerprint, { before: record!, after: settled }, now)
    return 'ok'
  }

  #withdraw(request: SettleRequest, record: LmdbRecord | 'gone', now: number): SettleResult {
    // What is gone leaves its place in the index to the sweep.
    if (record === 'gone') {
      const { records } = this.#environment
      dropNames(this.#environment, request.fingerprint, records.get(request.fingerprint)!)
      inTransaction(records.remove(request.fingerprint))
    } else this.#put(request.fingerprint, record)
    leaveGroup(this.#environment, request, now)
    return 'ok'
  }

  /** Whoever's turn it is now learns of it here; other processes see it by themselves. */
  #callFirst(fingerprint: string): void {
    if (this.#closed || groupOf(fingerprint) === undefined) return
    this.#environment.refresh()
    const first = firstInGroup(this.#environment, fingerprint, Date.now())
    if (first !== undefined) this.#changes.changedHere(first)
  }

  #append(request: AppendRequest): SettleResult {
    const { fingerprint, executionId, offset, chunk, overflow } = request
    const appended = append(this.#living(fingerprint, Date.now()), request)
    if (typeof appended === 'string') return appended
    if (overflow !== true && !this.#space.mayKeep(chunk.length)) {
      this.#append({ ...request, chunk: NOTHING, overflow: true })
      return 'stale'
    }
    this.#put(fingerprint, appended)
    if (overflow === true) dropPieces(this.#environment, executionId)
    else writePieces(this.#environment, executionId, offset, chunk)
    return 'ok'
  }

  #decide(request: AcquireRequest, now: number): Decided<LmdbRecord> {
    return decideAcquire((fingerprint) => this.#environment.records.get(fingerprint), request, now)
  }

  #refuse(
    refusal: Refusal,
    request: AcquireRequest,
    { fingerprint, record }: { fingerprint: string; record: LmdbRecord },
    now: number,
  ): Claim {
    if (isDuplicate(record, request, refusal)) this.#duplicates.add(fingerprint, record.createdAt)
    const body = refusal === 'completed' || refusal === 'failed' ? inlineBody(this.#environment, record) : undefined
    return refusalClaim(refusal, { view: this.#view(fingerprint, record, now), digestFields: record.digestFields, body })
  }

  #put(fingerprint: string, record: LmdbRecord): void {
    inTransaction(this.#environment.records.put(fingerprint, index(this.#environment, fingerprint, record)))
  }

  #living(fingerprint: string, now: number): LmdbRecord | undefined {
    return living(this.#environment.records.get(fingerprint), now)
  }

  #view(fingerprint: string, record: LmdbRecord, now: number): RecordView {
    const duplicates = record.duplicates + this.#duplicates.pending(fingerprint, record.createdAt)
    return viewOf(fingerprint, { ...record, duplicates }, now)
  }

  #reading<T>(verb: string, action: () => T): T {
    if (this.#closed) throw new StoreUnavailable(verb, new Error('the store is closed'))
    try {
      this.#environment.refresh()
      return action()
    } catch (error) {
      throw new StoreUnavailable(verb, error)
    }
  }

  #writing<T>(verb: string, action: () => T): Promise<T> {
    if (this.#closed) return Promise.reject(new StoreUnavailable(verb, new Error('the store is closed')))
    return withDeadline(verb, this.#timeoutMs, this.#environment.transaction(action))
  }

  async #sweep(): Promise<void> {
    if (this.#sweeping) return
    this.#sweeping = true
    try {
      while (!this.#closed && (await sweep(this.#environment, Date.now()))) await new Promise(setImmediate)
    } catch (error) {
      this.#warn(`expired records could not be removed: ${String(error)}`)
    }
    this.#sweeping = false
  }
}
