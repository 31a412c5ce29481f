// The store on PostgreSQL: each verb is one statement and one round trip, on the server's clock.
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
  TtlMs,
} from '../store.ts'
import { INLINE_BYTES, MOST_NAMES, StoreUnavailable } from '../store.ts'
import { checkSettle, digestsUnder, living, readLog, remembered, viewOf } from '../transitions.ts'
import type { PostgresAddress } from './address.ts'
import { readAddress } from './address.ts'
import { ChangeChannel } from './change-channel.ts'
import { warnOfForgetting } from './check-server.ts'
import type { Value } from './connections.ts'
import { Connections } from './connections.ts'
import { Preparation } from './preparation.ts'
import type { ClaimRow, ReadRow } from './rows.ts'
import { readClaim, readRecord, readStored, writeAnswerHead, writeHead } from './rows.ts'
import { STATEMENTS } from './statements.ts'
import { Sweeper } from './sweeper.ts'

const NO_BYTES = Buffer.alloc(0)
const NO_GROUP = [null, null, null]
const NO_NAMES = [null, null, null]

/**
 * Also where the server is down: the store is then out of reach until it is up. Rejects where an operator has to act: a role that
 * may not create the tables, a wrong password, tables of a later version.
 */
export async function openPostgresStore(url: string, options: StoreOptions): Promise<PostgresStore> {
  const address = readAddress(url, options.timeoutMs)
  const preparation = new Preparation(address, options)
  const there = await preparation.firstTry()
  const store = new PostgresStore(address, preparation, options)
  // What is to be said is said before anything starts, but nothing waits for a server that is away.
  if (there) await store.checked
  return store
}

export class PostgresStore implements Store {
  readonly #connections: Connections
  readonly #preparation: Preparation
  readonly #changes: ChangeChannel
  readonly #sweeper: Sweeper
  readonly #timeoutMs: number
  /** Resolves once the operator was told of settings that let the server forget. */
  readonly checked: Promise<void>
  #closed = false

  constructor(address: PostgresAddress, preparation: Preparation, options: StoreOptions) {
    this.#connections = new Connections(address, options.timeoutMs)
    this.#preparation = preparation
    this.#changes = new ChangeChannel(address, options)
    this.#timeoutMs = options.timeoutMs
    this.#sweeper = new Sweeper(async (statement, most) => {
      const [row] = await this.#run<{ looked: number }>('sweep', statement, [most])
      return row?.looked ?? 0
    }, options.warn)
    this.checked = preparation.done.then(() => warnOfForgetting(this.#connections, preparation.done, options.warn)).catch(() => undefined)
  }

  async acquire(request: AcquireRequest): Promise<Claim> {
    const { fingerprint, aliases = [], executionId, rule, owner, digestFields, leaseMs, ttlMs, exclusive, unique } = request
    const names = [fingerprint, ...aliases]
    const digests = names.map((_, n) => digestsUnder(request, n).join('|'))
    const about = [names, executionId, digests, rule, owner, digestFields, wholeMs(leaseMs), ttl(ttlMs)]
    const [row] = await this.#run<ClaimRow>('acquire', STATEMENTS.acquire, [
      ...about,
      request.onFailed,
      request.onUnknown,
      request.onCompleted,
      ...(exclusive === undefined ? NO_GROUP : [groupOf(fingerprint) ?? null, exclusive.whenBusy, wholeMs(exclusive.placeMs)]),
      ...(unique === undefined ? NO_NAMES : [[...unique.names], wholeMs(unique.keepMs), MOST_NAMES]),
    ])
    if (row === undefined) throw new TypeError('acquire answered nothing')
    return readClaim(row)
  }

  async renew({ fingerprint, executionId, leaseMs, ttlMs }: RenewRequest): Promise<SettleResult | 'cancelled'> {
    const values = [fingerprint, executionId, wholeMs(leaseMs), ttl(ttlMs)]
    const group = groupOf(fingerprint)
    const [row] = await (group === undefined
      ? this.#run<{ cancelled: boolean }>('renew', STATEMENTS.renew, values)
      : this.#run<{ cancelled: boolean }>('renew', STATEMENTS.renewInGroup, [...values, group]))
    if (row === undefined) return 'stale'
    return row.cancelled ? 'cancelled' : 'ok'
  }

  async settle(request: SettleRequest): Promise<SettleResult> {
    checkSettle(request)
    const { fingerprint, executionId, to, response, logged = 0, ttlMs, keepAtLeastMs } = request
    const head = response === undefined ? null : writeHead(response.head)
    const body = response?.head.bodyStored === true ? response.body : null
    const tombstone = request.tombstoneMs === undefined ? null : wholeMs(request.tombstoneMs)
    const kept = [ttl(ttlMs), wholeMs(keepAtLeastMs), head, body, logged, INLINE_BYTES]
    const values = [fingerprint, executionId, to, ...kept, groupOf(fingerprint) ?? null, tombstone]
    const [row] = await this.#run<{ word: SettleResult; wakes: string | null }>('settle', STATEMENTS.settle, values)
    if (row !== undefined && row.wakes !== null) this.#changes.changed(row.wakes)
    return this.#told(fingerprint, row)
  }

  async append({ fingerprint, executionId, offset, chunk, head, overflow = false }: AppendRequest): Promise<SettleResult> {
    const values = [fingerprint, executionId, offset, chunk, head === undefined ? null : writeAnswerHead(head), overflow]
    const [row] = await this.#run<{ word: SettleResult }>('append', STATEMENTS.append, values)
    return this.#told(fingerprint, row)
  }

  async cancel({ fingerprint, executionId }: ExecutionName): Promise<SettleResult> {
    const rows = await this.#run('cancel', STATEMENTS.cancel, [fingerprint, executionId])
    return rows.length === 0 ? 'stale' : 'ok'
  }

  async readLog(request: LogRequest): Promise<LogReading> {
    const { fingerprint, executionId, offset, maxBytes } = request
    const [row] = await this.#run<ReadRow>('readLog', STATEMENTS.readLog, [fingerprint, executionId, offset, maxBytes])
    return readLog(row && living(recordOf(row), row.read_at), request, { now: row?.read_at ?? 0, read: () => row?.bytes ?? NO_BYTES })
  }

  async read(fingerprint: string): Promise<RecordView | undefined> {
    const [row] = await this.#run<ReadRow>('read', STATEMENTS.read, [fingerprint, false])
    const record = recordOf(row)
    return record && viewOf(fingerprint, record, row!.read_at)
  }

  async list({ cursor, limit }: ListRequest): Promise<RecordsPage> {
    const rows = await this.#run<ReadRow>('list', STATEMENTS.list, [cursor ?? '', limit])
    const records = rows.flatMap((row) => {
      const record = recordOf(row)
      return record === undefined ? [] : [viewOf(row.fingerprint, record, row.read_at)]
    })
    return { records, cursor: rows.length < limit ? undefined : rows.at(-1)?.fingerprint }
  }

  async remove({ fingerprint, executionId }: ExecutionName): Promise<SettleResult> {
    const rows = await this.#run('remove', STATEMENTS.remove, [fingerprint, executionId])
    return rows.length === 0 ? 'stale' : 'ok'
  }

  async readResponse(fingerprint: string): Promise<KeptResponse | undefined> {
    const [row] = await this.#run<ReadRow>('readResponse', STATEMENTS.read, [fingerprint, true])
    return row === undefined || living(recordOf(row), row.read_at) === undefined ? undefined : readStored(row)
  }

  async watch(fingerprint: string, onChange: () => void): Promise<() => void> {
    if (this.#closed) throw closed('watch')
    return this.#changes.watch(fingerprint, onChange)
  }

  async secret(candidate: string): Promise<string> {
    const [row] = await this.#run<{ value: string }>('secret', STATEMENTS.secret, [candidate])
    if (row === undefined) throw new TypeError('secret answered nothing')
    return row.value
  }

  async ping(): Promise<void> {
    await this.#run('ping', STATEMENTS.ping, [])
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#sweeper.stop()
    this.#preparation.stop()
    await this.#changes.close()
    // A connection that does not end by then goes with the process.
    await withDeadline('close', this.#timeoutMs, this.#connections.close()).catch(() => undefined)
  }

  async #run<R extends object>(verb: string, statement: { name: string; text: string }, values: readonly Value[]): Promise<R[]> {
    if (this.#closed) throw closed(verb)
    return this.#connections.run<R>(verb, statement, values, this.#preparation.done)
  }

  #told(fingerprint: string, row: { word: SettleResult } | undefined): SettleResult {
    if (row === undefined) throw new TypeError('the statement answered nothing')
    if (row.word === 'ok') this.#changes.changed(fingerprint)
    return row.word
  }
}

/** The record where it lives, or still refuses. */
function recordOf(row: ReadRow | undefined) {
  return row === undefined || row.fingerprint === null ? undefined : remembered(readRecord(row), row.read_at)
}

function closed(verb: string): StoreUnavailable {
  return new StoreUnavailable(verb, new Error('the store is closed'))
}

function wholeMs(ms: number): number {
  return Math.ceil(ms)
}

/** Null: for ever. */
function ttl(ttlMs: TtlMs): number | null {
  return ttlMs === Infinity ? null : wholeMs(ttlMs)
}
