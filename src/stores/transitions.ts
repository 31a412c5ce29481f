// The record's state machine as pure functions: what each verb decides, given the record and the time. The
// scripts in redis/ and the SQL in postgres/ say the same; the contract suite holds them to each other.
import { isInFlight, type RecordStatus, type RecordView } from '../model/record.ts'
import type { AnswerHead, ResponseHead } from '../model/stored-response.ts'
import type {
  AcquireRequest,
  AppendRequest,
  Claim,
  ExecutionName,
  LogReading,
  LogRequest,
  RenewRequest,
  SettleRequest,
  SettleResult,
} from './store.ts'
import { withNames } from './further-names.ts'

/** A record as it is kept. Never changed in place. */
export interface KeptRecord {
  readonly rule: string
  readonly owner: string
  readonly digest: string
  readonly digestFields: string
  readonly status: RecordStatus
  readonly attempt: number
  readonly executionId: string
  /** What the latest execution followed, so that a repeated acquire gets the same answer as the first. */
  readonly after: Granted['after']
  readonly duplicates: number
  readonly createdAt: number
  readonly startedAt: number
  readonly updatedAt: number
  /** 0 unless `processing`. */
  readonly leaseUntil: number
  /** Infinity: kept for ever. */
  readonly expiresAt: number
  readonly head: ResponseHead | undefined
  /** The answer that is being appended; undefined where nothing of it was. */
  readonly log: OpenLog | undefined
  /** Somebody has asked that the execution be given up. */
  readonly cancelled: boolean
  /** Who waits for the group, over whatever the record is besides: `pending` where it is nothing else. */
  readonly waiter: { readonly executionId: string; readonly until: number } | undefined
  /** For so long after its end it refuses still; 0: no longer than that. */
  readonly tombstoneUntil: number
  /** Further names that belong to this fact. */
  readonly names: readonly string[]
}

export interface OpenLog {
  readonly head: AnswerHead
  readonly bytes: number
  /** The answer was over `maxResult`: its bytes are gone. */
  readonly overflow: boolean
}

export type Granted = Extract<Claim, { kind: 'acquired' }>
export type Refusal = Exclude<Claim, { kind: 'acquired' | 'busy' | 'pending' | 'name_used' }>['kind']

/** The record, unless its time is over: expired records are as good as gone before anyone removes them. */
export function living<R extends KeptRecord>(record: R | undefined, now: number): R | undefined {
  return record !== undefined && record.expiresAt > now ? record : undefined
}

/** The record where it lives, refuses still, or somebody waits over it. */
export function remembered<R extends KeptRecord>(record: R | undefined, now: number): R | undefined {
  return record !== undefined && (record.expiresAt > now || record.tombstoneUntil > now || waits(record, now)) ? record : undefined
}

export function statusAt(record: KeptRecord, now: number): RecordStatus {
  return waits(record, now) ? 'pending' : statusBeneath(record, now)
}

function waits({ waiter }: KeptRecord, now: number): boolean {
  return waiter !== undefined && waiter.until > now
}

function statusBeneath(record: KeptRecord, now: number): RecordStatus {
  if (record.expiresAt <= now) return 'expired'
  return record.status === 'processing' && record.leaseUntil <= now ? 'unknown' : record.status
}

/** What an acquire comes to, and on which record. */
export interface Decided<R extends KeptRecord> {
  readonly fingerprint: string
  /** As it is kept, expired or not. */
  readonly kept: R | undefined
  /** The same where it lives, or refuses still. */
  readonly record: R | undefined
  readonly decision: Granted | Refusal
}

/** G11. A refusal changes nothing but the count of duplicates. */
export function decideAcquire<R extends KeptRecord>(
  find: (fingerprint: string) => R | undefined,
  request: AcquireRequest,
  now: number,
): Decided<R> {
  const own = decideUnder(request.fingerprint, find, { ...request, agreeing: digestsUnder(request, 0) }, now)
  if (request.aliases === undefined) return own
  const all = [
    own,
    ...request.aliases.map((alias, n) => decideUnder(alias, find, { ...request, agreeing: digestsUnder(request, n + 1) }, now)),
  ]
  const alive = all.filter(({ record }) => record !== undefined)
  return (
    // G2 comes first: what was granted under one name stays granted.
    alive.find(({ record }) => record !== undefined && (isEcho(record, request) || isWaiting(record, request))) ??
    alive.find(({ decision }) => typeof decision === 'string') ??
    alive[0] ??
    own
  )
}

/** The digests that a record may have under the request's n-th name, its own being the first. */
export function digestsUnder({ digest, digests }: AcquireRequest, n: number): readonly string[] {
  return digests?.[n] ?? [digest]
}

type Compared = AcquireRequest & { readonly agreeing: readonly string[] }

function decideUnder<R extends KeptRecord>(
  fingerprint: string,
  find: (fingerprint: string) => R | undefined,
  request: Compared,
  now: number,
): Decided<R> {
  const kept = find(fingerprint)
  const record = remembered(kept, now)
  return { fingerprint, kept, record, decision: decideOn(record, fingerprint, request, now) }
}

/** The acquire was sent twice. Also over a lapsed lease: whoever acquires has not begun, and nobody else was granted in between. */
function isEcho(record: KeptRecord, request: AcquireRequest): boolean {
  return record.executionId === request.executionId && record.status === 'processing'
}

/** It has a place in the line: what was decided then is only to be done. */
function isWaiting({ waiter }: KeptRecord, { executionId }: { executionId: string }): boolean {
  return waiter?.executionId === executionId
}

function decideOn(record: KeptRecord | undefined, fingerprint: string, request: Compared, now: number): Granted | Refusal {
  const granted = (attempt: number, after: Granted['after']): Granted => ({ kind: 'acquired', fingerprint, attempt, after })
  if (record === undefined) return granted(1, 'none')
  if (isEcho(record, request)) return granted(record.attempt, record.after)
  const attempt = record.attempt + 1
  if (isWaiting(record, request)) return granted(attempt, followed(statusBeneath(record, now)))
  if (!request.agreeing.includes(record.digest)) return 'key_reused'
  // A late copy, and nobody waits for what it would be granted. The result that its execution came to must not be lost to it.
  const status = statusAt(record, now)
  if (record.executionId === request.executionId && status !== 'expired') return record.status === 'completed' ? 'completed' : 'unknown'
  switch (status) {
    case 'pending':
    case 'processing':
      return 'in_flight'
    case 'completed':
      return request.onCompleted === 'replay' ? 'completed' : granted(attempt, 'completed')
    case 'expired':
      return request.onCompleted === 'replay' || record.executionId === request.executionId ? 'expired' : granted(attempt, 'completed')
    case 'failed':
      return request.onFailed === 'replay' && record.head !== undefined ? 'failed' : granted(attempt, 'failed')
    case 'unknown':
      return request.onUnknown === 'refuse' ? 'unknown' : granted(attempt, 'unknown')
  }
}

function followed(status: RecordStatus): Granted['after'] {
  return isInFlight(status) ? 'none' : status === 'expired' ? 'completed' : status
}

/** G13: the record with somebody who waits, from now on or still. */
export function wait(record: KeptRecord | undefined, request: AcquireRequest, until: number, now: number): KeptRecord {
  const { executionId } = request
  const waiter = { executionId, until }
  if (record !== undefined && record.status !== 'pending') {
    // One that is over does not come back to life.
    return {
      ...withNames(record, request),
      waiter,
      expiresAt: record.expiresAt > now ? Math.max(record.expiresAt, until) : record.expiresAt,
    }
  }
  const fresh = grant(undefined, request, { kind: 'acquired', fingerprint: '', attempt: 0, after: 'none' }, record?.createdAt ?? now)
  return { ...fresh, status: 'pending', duplicates: record?.duplicates ?? 0, leaseUntil: 0, expiresAt: until, waiter }
}

/** G13: the record without the execution that waited; `gone` where it was nothing else, undefined where that one does not wait. */
export function withdraw<R extends KeptRecord>(record: R | undefined, request: SettleRequest): R | 'gone' | undefined {
  if (record === undefined || !isWaiting(record, request) || request.to !== 'failed') return undefined
  // It had been granted, lost its group to another, and has never begun: that is its own end.
  if (record.status === 'processing' && record.executionId === request.executionId) return undefined
  return record.status === 'pending' ? 'gone' : { ...record, waiter: undefined }
}

/** The record after a grant: a full lease from now, and no answer yet. */
export function grant(record: KeptRecord | undefined, request: AcquireRequest, granted: Granted, now: number): KeptRecord {
  // G10: what was is over.
  if (record?.status === 'completed') return { ...grant(undefined, request, granted, now), digest: record.digest }
  const repeated = record?.executionId === request.executionId
  const kept = {
    rule: record?.rule ?? request.rule,
    owner: record?.owner ?? request.owner,
    digest: record?.digest ?? request.digest,
    digestFields: record?.digestFields ?? request.digestFields,
    status: 'processing',
    attempt: granted.attempt,
    executionId: request.executionId,
    after: granted.after,
    duplicates: record === undefined ? 0 : record.duplicates + (repeated ? 0 : 1),
    createdAt: record?.createdAt ?? now,
    startedAt: now,
    updatedAt: now,
    leaseUntil: now + request.leaseMs,
    // An unknown outcome is remembered for a ttl after the last sign of life.
    expiresAt: now + request.leaseMs + request.ttlMs,
    head: undefined,
    log: undefined,
    cancelled: false,
    waiter: undefined,
    tombstoneUntil: 0,
    names: record?.names ?? [],
  } as const
  return withNames<KeptRecord>(kept, request)
}

/** Whether a refused acquire counts as a duplicate: not the execution's own echo, and a mismatch leaves no trace (G5). */
export function isDuplicate(record: KeptRecord, request: AcquireRequest, refusal: Refusal): boolean {
  return refusal !== 'key_reused' && record.executionId !== request.executionId
}

/** The renewed record, or undefined where the execution has lost its turn (G3, G6). */
export function renew<R extends KeptRecord>(record: R | undefined, request: RenewRequest, now: number): R | undefined {
  if (record === undefined || record.executionId !== request.executionId || statusAt(record, now) !== 'processing') return undefined
  return { ...record, leaseUntil: now + request.leaseMs, expiresAt: now + request.leaseMs + request.ttlMs }
}

/** `ok` and `stale` change nothing; a record is what to write. */
export function settle<R extends KeptRecord>(record: R | undefined, request: SettleRequest, now: number): R | SettleResult {
  if (record === undefined || record.executionId !== request.executionId || record.expiresAt <= now) return 'stale'
  if (record.status === request.to) return 'ok'
  // A lapsed lease is no bar: nobody else was granted, so the late answer is the answer.
  if (record.status === 'completed' || record.status === 'failed' || record.status === 'pending') return 'stale'
  const from = request.to === 'unknown' ? now : record.createdAt
  // A result is the answer to whoever waits as well.
  const waiter = request.to === 'completed' || isWaiting(record, request) ? undefined : record.waiter
  const expiresAt = Math.max(from + request.ttlMs, now + request.keepAtLeastMs, waiter?.until ?? 0)
  const head = settledHead(record, request)
  const tombstoneUntil = request.to === 'completed' && request.tombstoneMs !== undefined ? expiresAt + request.tombstoneMs : 0
  return { ...record, status: request.to, updatedAt: now, leaseUntil: 0, expiresAt, head, log: undefined, waiter, tombstoneUntil }
}

/** A log that lost a piece is no body. */
function settledHead({ log }: KeptRecord, { response, logged = 0 }: SettleRequest): ResponseHead | undefined {
  if (response === undefined || logged === 0 || (log?.bytes === logged && !log.overflow)) return response?.head
  return { ...response.head, bodyStored: false }
}

/** The record with the wish in it, or undefined where there is nothing to give up. */
export function cancel<R extends KeptRecord>(record: R | undefined, { executionId }: ExecutionName, now: number): R | undefined {
  if (record === undefined || record.executionId !== executionId || statusAt(record, now) !== 'processing') return undefined
  return { ...record, cancelled: true }
}

/** G16. Whether the record may be removed. */
export function isRemovable(record: KeptRecord | undefined, { executionId }: ExecutionName, now: number): boolean {
  return record !== undefined && record.executionId === executionId && !isInFlight(statusAt(record, now))
}

/** G12. `ok` and `stale` change nothing; a record is what to write, with the piece. */
export function append<R extends KeptRecord>(record: R | undefined, request: AppendRequest): R | SettleResult {
  if (record === undefined || record.executionId !== request.executionId || record.status !== 'processing') return 'stale'
  const { offset, chunk, overflow = false } = request
  const log = record.log ?? (request.head && { head: request.head, bytes: 0, overflow: false })
  if (log === undefined || log.overflow) return overflow && log !== undefined ? 'ok' : 'stale'
  if (overflow) return { ...record, log: { ...log, overflow } }
  // Sent twice: the answer to the first was lost.
  if (record.log !== undefined && log.bytes >= offset + chunk.length) return 'ok'
  return log.bytes === offset ? { ...record, log: { ...log, bytes: offset + chunk.length } } : 'stale'
}

/** What a reading of the log comes to; `read` gives bytes of the body from the request's offset on. */
export function readLog(
  record: KeptRecord | undefined,
  { fingerprint, executionId, offset }: LogRequest,
  { now, read }: { now: number; read: () => Buffer },
): LogReading {
  const gone = { kind: 'gone', record: record && viewOf(fingerprint, record, now) } as const
  if (record === undefined || record.executionId !== executionId) return gone
  const status = statusAt(record, now)
  if (status === 'processing') {
    const { log } = record
    if (log?.overflow === true) return gone
    const bytes = log === undefined || log.bytes <= offset ? NO_BYTES : read()
    return { kind: 'open', head: log?.head, bytes, leaseLeft: record.leaseUntil - now }
  }
  const { head } = record
  if (status === 'unknown' || head?.bodyStored !== true) return gone
  return { kind: 'closed', head, bytes: head.bodyBytes <= offset ? NO_BYTES : read() }
}

const NO_BYTES = Buffer.alloc(0)

/** A completed record always has an answer to replay (its body may be left out: `bodyStored: false`). */
export function checkSettle(request: SettleRequest): void {
  if (request.to === 'completed' && request.response === undefined) {
    throw new TypeError('settling to completed needs the response')
  }
}

export function viewOf(fingerprint: string, record: KeptRecord, now: number): RecordView {
  const status = statusAt(record, now)
  const waiter = status === 'pending' ? record.waiter : undefined
  const over = status === 'expired'
  const end = over ? record.tombstoneUntil : record.expiresAt
  return {
    fingerprint,
    rule: record.rule,
    owner: record.owner,
    status,
    attempt: waiter === undefined ? record.attempt : record.attempt + 1,
    executionId: waiter?.executionId ?? record.executionId,
    duplicates: record.duplicates,
    createdAt: record.createdAt,
    startedAt: record.startedAt,
    updatedAt: record.updatedAt,
    expiresAt: end === Infinity ? undefined : end,
    readAt: now,
    leaseLeft: waiter !== undefined ? waiter.until - now : status === 'processing' ? record.leaseUntil - now : 0,
    response: waiter !== undefined ? undefined : over && record.head !== undefined ? { ...record.head, bodyStored: false } : record.head,
  }
}
