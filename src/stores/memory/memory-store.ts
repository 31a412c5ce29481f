// The store in memory: the executable specification, for tests and single-process trials. A restart forgets everything.
import { groupOf } from '../../model/group.ts'
import type { RecordView } from '../../model/record.ts'
import type { KeptResponse } from '../../model/stored-response.ts'
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
import { StoreUnavailable } from '../store.ts'
import { namesOfOthers, withNames } from '../further-names.ts'
import { enter, type Group, isEmpty, isOver, left, nextOf, NO_GROUP, renewed, settled } from '../groups.ts'
import type { KeptRecord } from '../transitions.ts'
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
import { Watchers } from '../watchers.ts'
import { Bytes } from './bytes.ts'

const SWEEP_EVERY_MS = 1000

interface Entry {
  readonly record: KeptRecord
  /** The stored body, or as much of it as was appended. */
  readonly body: Bytes
}

/** Every verb runs in one turn of the event loop, which makes it atomic. Only expired records are ever removed (G7). */
export class MemoryStore implements Store {
  readonly #entries = new Map<string, Entry>()
  readonly #groups = new Map<string, Group>()
  /** Further name → the fact that it may belong to. */
  readonly #names = new Map<string, string>()
  readonly #watchers = new Watchers()
  readonly #now: () => number
  /** The names there were when the latest listing began, in order: a step finds its place in them. */
  #listed: readonly string[] = []
  readonly #sweeper: NodeJS.Timeout
  #secret: string | undefined
  #closed = false

  constructor(now: () => number = Date.now) {
    this.#now = now
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_EVERY_MS).unref()
  }

  async acquire(request: AcquireRequest): Promise<Claim> {
    this.#open('acquire')
    const now = this.#now()
    const places = namesOfOthers(request, {
      owner: (name) => this.#names.get(name),
      living: (fingerprint) => this.#living(fingerprint, now)?.record,
    })
    if (places.length > 0) return { kind: 'name_used', places }
    const claim = this.#acquire(request, now)
    if (request.unique !== undefined && claim.kind !== 'busy' && claim.kind !== 'key_reused' && claim.kind !== 'name_used') {
      const fingerprint = claim.kind === 'acquired' ? claim.fingerprint : claim.record.fingerprint
      for (const name of request.unique.names) this.#names.set(name, fingerprint)
    }
    return claim
  }

  #acquire(request: AcquireRequest, now: number): Claim {
    const { fingerprint, record: found, decision } = decideAcquire((name) => this.#entries.get(name)?.record, request, now)
    if (typeof decision === 'object') {
      const blocked = this.#enter(fingerprint, found, request, now)
      if (blocked !== undefined) return blocked
      this.#entries.set(fingerprint, { record: grant(found, request, decision, now), body: new Bytes() })
      return decision
    }
    if (found === undefined) throw new TypeError('a refusal without a record')
    const body = this.#entries.get(fingerprint)?.body ?? new Bytes()
    let record = found
    if (isDuplicate(record, request, decision)) {
      record = { ...withNames(record, request), duplicates: record.duplicates + 1 }
      this.#entries.set(fingerprint, { record, body })
    }
    return refusalClaim(decision, { view: viewOf(fingerprint, record, now), digestFields: record.digestFields, body: body.inline() })
  }

  async renew(request: RenewRequest): Promise<SettleResult | 'cancelled'> {
    this.#open('renew')
    const now = this.#now()
    const entry = this.#living(request.fingerprint, now)
    const record = renew(entry?.record, request, now)
    if (entry === undefined || record === undefined) return 'stale'
    this.#entries.set(request.fingerprint, { ...entry, record })
    this.#changeGroup(request.fingerprint, (group) => renewed(group, request.executionId, record.leaseUntil))
    return record.cancelled ? 'cancelled' : 'ok'
  }

  async cancel(request: ExecutionName): Promise<SettleResult> {
    this.#open('cancel')
    const now = this.#now()
    const entry = this.#living(request.fingerprint, now)
    const record = cancel(entry?.record, request, now)
    if (entry === undefined || record === undefined) return 'stale'
    this.#entries.set(request.fingerprint, { ...entry, record })
    return 'ok'
  }

  async settle(request: SettleRequest): Promise<SettleResult> {
    checkSettle(request)
    this.#open('settle')
    const now = this.#now()
    const entry = this.#remembered(request.fingerprint, now)
    const without = withdraw(entry?.record, request)
    if (entry !== undefined && without !== undefined) return this.#withdraw(request, entry, without)
    const record = settle(entry?.record, request, now)
    if (entry === undefined || typeof record === 'string') return typeof record === 'string' ? record : 'stale'
    const body = (request.logged ?? 0) > 0 ? entry.body : new Bytes()
    body.add(request.response?.body)
    this.#entries.set(request.fingerprint, { record, body: record.head?.bodyStored === true ? body : new Bytes() })
    this.#changeGroup(request.fingerprint, (group) => settled(group, { before: entry.record, after: record }, now))
    this.#watchers.notify(request.fingerprint)
    this.#callFirst(request.fingerprint, now)
    return 'ok'
  }

  async append(request: AppendRequest): Promise<SettleResult> {
    this.#open('append')
    const entry = this.#living(request.fingerprint, this.#now())
    const record = append(entry?.record, request)
    if (entry === undefined || typeof record === 'string') return typeof record === 'string' ? record : 'stale'
    const body = request.overflow === true ? new Bytes() : entry.body
    body.add(request.chunk)
    this.#entries.set(request.fingerprint, { record, body })
    this.#watchers.notify(request.fingerprint)
    return 'ok'
  }

  async readLog(request: LogRequest): Promise<LogReading> {
    this.#open('readLog')
    const now = this.#now()
    const entry = this.#living(request.fingerprint, now)
    return readLog(entry?.record, request, { now, read: () => entry!.body.slice(request.offset, request.maxBytes) })
  }

  async read(fingerprint: string): Promise<RecordView | undefined> {
    this.#open('read')
    const now = this.#now()
    const entry = this.#remembered(fingerprint, now)
    return entry && viewOf(fingerprint, entry.record, now)
  }

  async list({ cursor, limit }: ListRequest): Promise<RecordsPage> {
    this.#open('list')
    const now = this.#now()
    if (cursor === undefined) this.#listed = [...this.#entries.keys()].sort()
    const from = cursor === undefined ? 0 : placeAfter(this.#listed, cursor)
    const names = this.#listed.slice(from, from + limit)
    const records = names.flatMap((name) => {
      const record = this.#living(name, now)?.record
      return record === undefined ? [] : [viewOf(name, record, now)]
    })
    return { records, cursor: from + limit < this.#listed.length ? names.at(-1) : undefined }
  }

  async remove(request: ExecutionName): Promise<SettleResult> {
    this.#open('remove')
    const now = this.#now()
    if (!isRemovable(this.#remembered(request.fingerprint, now)?.record, request, now)) return 'stale'
    this.#entries.delete(request.fingerprint)
    return 'ok'
  }

  async readResponse(fingerprint: string): Promise<KeptResponse | undefined> {
    this.#open('readResponse')
    const entry = this.#living(fingerprint, this.#now())
    return entry?.record.head && { head: entry.record.head, body: entry.body.inline() }
  }

  async watch(fingerprint: string, onChange: () => void): Promise<() => void> {
    this.#open('watch')
    return this.#watchers.add(fingerprint, onChange)
  }

  async secret(candidate: string): Promise<string> {
    this.#open('secret')
    return (this.#secret ??= candidate)
  }

  async ping(): Promise<void> {
    this.#open('ping')
  }

  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#sweeper)
    this.#watchers.clear()
  }

  /** G13: what the group says to an acquire that would be granted; undefined: nothing against it. */
  #enter(fingerprint: string, record: KeptRecord | undefined, request: AcquireRequest, now: number): Claim | undefined {
    const name = groupOf(fingerprint)
    const { exclusive } = request
    if (name === undefined || exclusive === undefined) return undefined
    const entrance = enter(this.#groups.get(name) ?? NO_GROUP, { fingerprint, record, request, exclusive }, now)
    if (entrance.group !== undefined) this.#groups.set(name, entrance.group)
    if (entrance.claim?.kind === 'pending' && entrance.record !== undefined) {
      this.#entries.set(fingerprint, { record: entrance.record, body: this.#entries.get(fingerprint)?.body ?? new Bytes() })
    }
    return entrance.claim
  }

  #withdraw({ fingerprint, executionId }: ExecutionName, entry: Entry, record: KeptRecord | 'gone'): SettleResult {
    if (record === 'gone') this.#entries.delete(fingerprint)
    else this.#entries.set(fingerprint, { ...entry, record })
    const now = this.#now()
    this.#changeGroup(fingerprint, (group) => left(group, executionId, now))
    this.#watchers.notify(fingerprint)
    this.#callFirst(fingerprint, now)
    return 'ok'
  }

  #changeGroup(fingerprint: string, change: (group: Group) => Group): void {
    const name = groupOf(fingerprint)
    const group = name === undefined ? undefined : this.#groups.get(name)
    if (name === undefined || group === undefined) return
    const changed = change(group)
    if (isEmpty(changed)) this.#groups.delete(name)
    else this.#groups.set(name, changed)
  }

  /** Whose turn it is now. */
  #callFirst(fingerprint: string, now: number): void {
    const name = groupOf(fingerprint)
    const next = name === undefined ? undefined : nextOf(this.#groups.get(name) ?? NO_GROUP, now)
    if (next !== undefined) this.#watchers.notify(next.fingerprint)
  }

  #open(verb: string): void {
    if (this.#closed) throw new StoreUnavailable(verb, new Error('the store is closed'))
  }

  #living(fingerprint: string, now: number): Entry | undefined {
    const entry = this.#entries.get(fingerprint)
    return living(entry?.record, now) && entry
  }

  #remembered(fingerprint: string, now: number): Entry | undefined {
    const entry = this.#entries.get(fingerprint)
    return remembered(entry?.record, now) && entry
  }

  #sweep(): void {
    const now = this.#now()
    for (const [fingerprint, { record }] of this.#entries) {
      if (remembered(record, now) === undefined) this.#entries.delete(fingerprint)
      else if (living(record, now) === undefined) this.#entries.set(fingerprint, { record, body: new Bytes() })
    }
    for (const [name, fingerprint] of this.#names) if (!this.#entries.has(fingerprint)) this.#names.delete(name)
    for (const [name, group] of this.#groups) if (isOver(group, now)) this.#groups.delete(name)
  }
}

/** Where the first name after the given one stands. */
function placeAfter(names: readonly string[], name: string): number {
  let [low, high] = [0, names.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (names[middle]! <= name) low = middle + 1
    else high = middle
  }
  return low
}
