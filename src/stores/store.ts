// What the gateway asks of a store. memory/ is the executable specification; one contract suite holds all to it.
//
//   (none) ──acquire──▶ processing ──settle──▶ completed ──expiry──▶ (none), or expired ──expiry──▶ (none)
//                         │   │                  └──acquire──▶ processing, attempt + 1, a new generation   (onCompleted: execute)
//                         │   ├──────settle──▶ failed ───acquire──▶ processing, attempt + 1   (G4)
//                         │   └──────settle──▶ unknown ──acquire──▶ processing, attempt + 1   (onUnknown: retry)
//                         └──lease runs out──▶ unknown ──settle by the same execution──▶ completed | failed
//
//   (none) | failed | unknown | completed ──acquire, and the group is busy──▶ pending ──acquire, and it is free──▶ processing
//       ▲                                                                       │
//       └─────────────── settle (failed) by whoever waits, or nobody asks ──────┘
//
// Guarantees, each a test of the contract suite:
//  G1  Of any number of concurrent acquires of one fingerprint at most one is `acquired`.
//  G2  An acquire repeated with the same executionId finds its own claim and is `acquired` again, same attempt. One that comes
//      after its execution was settled is granted nothing.
//  G3  A settle or renew compares the execution id: one that lost its turn changes nothing and is told `stale`.
//      A settle repeated by the same execution, to the same end, is `ok`.
//  G4  The attempt grows by one with every execution granted and never repeats while the record lives.
//  G5  Another digest is `key_reused` whatever the status, and leaves the record as it was.
//  G6  A lease starts when it is granted and ends by the store's own clock; a lapsed one makes the record `unknown`.
//      A lapsed lease cannot be renewed.
//  G7  A record in processing is never expired or evicted while its lease lives; every key in the store has an expiry
//      unless the rule's ttl is `forever`.
//  G8  A settled record is readable by whoever is told of the settling.
//  G9  Each verb is one atomic step, bounded in time (StoreUnavailable), and safe to send twice.
//  G10 A new generation keeps nothing of the earlier one but the count of attempts: ttl and duplicates begin anew. Of any
//      number of concurrent acquires that ask for one, one gets it and the others find it in flight.
//  G11 An acquire that looks under aliases too is decided in one step over all of these names: granted only where the record
//      of none of them refuses it, whatever the order; decided on the first that refuses, else on the first that lives (its
//      own name first), else under its own name. All of the above then holds of that record, under that record's own name.
//  G12 While an execution runs its answer may be appended to the record's log, piece by piece, by that execution alone. A
//      reader sees a beginning of what was appended, without gaps, and never the log of another execution. Only a settling
//      makes it a result; a log whose execution ends without one is gone, and so is one of which a piece was lost.
//  G13 Of the facts of one group (`exclusive`) one is executed at a time, whatever their fingerprints. The group is held from the
//      grant until its execution is settled as completed or failed, and where nobody knows how it ended, until its lease ends; it is
//      never freed by another execution. Meanwhile other facts are `busy`, or their records wait, `pending`, in the order in which
//      they came. Who waits keeps the place by asking again, and only the first is granted; whoever has not asked again in time is
//      passed over, and the record is what it was before: what only waited is gone. What is no execution is answered as ever.
//  G14 Where a result is settled with a tombstone the record is `expired` for so long after its end: every acquire is refused, but
//      for another digest (G5) and a new generation (G10). Of the answer its head alone is left.
//  G15 A listing comes upon every record that lives from its first step to its last; upon one that comes or goes meanwhile,
//      or is known under its claim alone, it may or may not. A step looks at a bounded number of records, and holds nobody up.
//  G16 A record is removed only with the execution that it was seen with, not while its lease lives and not while somebody waits over it.
//      Nothing of it is left, no tombstone either.
//  G17 A further name (`unique`) belongs to one fact: to the first that brought it, as long as that one's record lives. A request that
//      brings a name of another fact is `name_used`, whatever it comes to otherwise, and changes nothing. One whose own fact has a
//      record, or gets one, adds its names to it, up to MOST_NAMES; a mismatch (G5) and a busy group add none.
import type { RecordView, SettledStatus } from '../model/record.ts'
import type { AnswerHead, KeptResponse, ResponseHead, StoredResponse } from '../model/stored-response.ts'

/** Time to live in milliseconds; Infinity keeps the record for ever. */
export type TtlMs = number

export interface AcquireRequest {
  readonly fingerprint: string
  /**
   * Further names that the same fact may be kept under, of the same home (`model/home.ts`). Whoever looks under another's name must be looked
   * for by it in turn.
   */
  readonly aliases?: readonly string[] | undefined
  /**
   * For each name, its own first, the digests that a record may have (G5): those that other versions of the rules compute, besides. A new
   * record keeps the first of them, which under its own name is `digest`. Undefined: `digest` under every name.
   */
  readonly digests?: readonly (readonly string[])[] | undefined
  /** A fresh UUIDv7: the right to execute, if granted, is bound to it. */
  readonly executionId: string
  readonly rule: string
  readonly owner: string
  readonly digest: string
  readonly digestFields: string
  readonly leaseMs: number
  /** Counted from the first acquire of the record. */
  readonly ttlMs: TtlMs
  readonly onFailed: 'retry' | 'replay'
  readonly onUnknown: 'refuse' | 'retry'
  /** `execute`: a result is no answer to this request, which is a new wish in the same words. */
  readonly onCompleted: 'replay' | 'execute'
  /** Only of a fingerprint that has a group (`groupOf`), and its aliases have the same. */
  readonly exclusive?: Exclusive | undefined
  /** There may be a tombstone of the fact: a store need not look for one where this is not said. */
  readonly tombstone?: boolean | undefined
  /** Further names of the fact, of which each belongs to one fact alone. */
  readonly unique?: Unique | undefined
}

/** A record has so many further names at most; what comes later is not remembered. */
export const MOST_NAMES = 64

export interface Unique {
  /** All of the home (`homeOf`) of the fingerprint. */
  readonly names: readonly string[]
  /** No record lives for longer than this after an acquire: then its names may be forgotten. */
  readonly keepMs: number
}

export interface Exclusive {
  readonly whenBusy: 'refuse' | 'wait'
  /** How long a place in the line is kept for one who does not ask again. */
  readonly placeMs: number
}

export type Claim =
  /**
   * The right to execute, on the record of this fingerprint: the request's own or one of its aliases. `after` says what it follows: `unknown` means that an earlier execution may have acted, `completed`
   * that a new generation begins.
   */
  | {
      readonly kind: 'acquired'
      readonly fingerprint: string
      readonly attempt: number
      readonly after: 'none' | 'failed' | 'unknown' | 'completed'
    }
  | { readonly kind: 'in_flight'; readonly record: RecordView }
  /** G13. `heldMs`: how long the execution that holds the group has been running; 0 where others are only waiting for it. */
  | { readonly kind: 'busy'; readonly heldMs: number }
  /** G13: the record waits for its group on behalf of this very execution, which has to ask again to keep its place. */
  | { readonly kind: 'pending'; readonly record: RecordView; readonly heldMs: number }
  | { readonly kind: 'completed'; readonly record: RecordView; readonly response: KeptResponse }
  /** Only with `onFailed: replay`, and only where an answer was stored. */
  | { readonly kind: 'failed'; readonly record: RecordView; readonly response: KeptResponse }
  | { readonly kind: 'unknown'; readonly record: RecordView }
  /** G14. */
  | { readonly kind: 'expired'; readonly record: RecordView }
  /** G17: these of the further names, by their place, belong to another fact. */
  | { readonly kind: 'name_used'; readonly places: readonly number[] }
  /** `digestFields` are those of the first request. */
  | { readonly kind: 'key_reused'; readonly record: RecordView; readonly digestFields: string }

export interface SettleRequest {
  readonly fingerprint: string
  readonly executionId: string
  readonly to: SettledStatus
  /** Absent: nothing came back that is worth keeping. */
  readonly response?: StoredResponse
  /**
   * So many bytes of the body are in the log already, and `response.body` is what comes after them. Where the log holds another
   * number, the answer is kept without its body (`bodyStored: false`).
   */
  readonly logged?: number
  readonly ttlMs: TtlMs
  /**
   * The record outlives its settling by at least this (the rule's lease), even where the ttl is over: whoever waited
   * must find the result.
   */
  readonly keepAtLeastMs: number
  /** For how long after its end a completed record still refuses (G14). */
  readonly tombstoneMs?: number | undefined
}

export interface RenewRequest {
  readonly fingerprint: string
  readonly executionId: string
  readonly leaseMs: number
  readonly ttlMs: TtlMs
}

export interface AppendRequest extends ExecutionName {
  /** How many bytes of the body were appended before. */
  readonly offset: number
  /** May be empty, to tell of the head alone. */
  readonly chunk: Buffer
  /** With the first piece. */
  readonly head?: AnswerHead
  /** The answer is over `maxResult`: its log is dropped, and whoever reads it is told. */
  readonly overflow?: boolean
}

export interface ExecutionName {
  readonly fingerprint: string
  readonly executionId: string
}

export interface LogRequest extends ExecutionName {
  readonly offset: number
  /** At most so many bytes at once; where there is one to give, at least one is given. */
  readonly maxBytes: number
}

export interface ListRequest {
  /** Where the step before has ended; undefined: the first step. */
  readonly cursor: string | undefined
  /** About how many records to look at in this step. */
  readonly limit: number
}

export interface RecordsPage {
  /** In no order that means anything, and one may come twice in a listing. May be empty before the end. */
  readonly records: readonly RecordView[]
  /** Undefined: the listing has come to its end. */
  readonly cursor: string | undefined
}

export type LogReading =
  /** The answer is still coming. Without a head: nothing of it was appended yet. */
  | { readonly kind: 'open'; readonly head: AnswerHead | undefined; readonly bytes: Buffer; readonly leaseLeft: number }
  /** The answer is stored, whole; it ends where `head.bodyBytes` says. */
  | { readonly kind: 'closed'; readonly head: ResponseHead; readonly bytes: Buffer }
  /** There is no such log: the record says why, if it is still there. */
  | { readonly kind: 'gone'; readonly record: RecordView | undefined }

/** Stored bodies of up to this many bytes come with the claim that replays them; larger ones are read from the log. */
export const INLINE_BYTES = 65_536

/** A settling to `failed` by an execution that waits gives up its place. `stale`: the execution is no longer the record's latest, or its lease has run out; nothing was changed. */
export type SettleResult = 'ok' | 'stale'

export interface Store {
  acquire(request: AcquireRequest): Promise<Claim>
  /** `cancelled`: renewed, and somebody who may has asked that the execution be given up. */
  renew(request: RenewRequest): Promise<SettleResult | 'cancelled'>
  settle(request: SettleRequest): Promise<SettleResult>
  /** `stale` also where a piece before this one is missing. */
  append(request: AppendRequest): Promise<SettleResult>
  /** Asks the gateway that runs the execution to give it up; it learns of it at its next renewal. */
  cancel(request: ExecutionName): Promise<SettleResult>
  /** The execution's log, or the stored answer that became of it. */
  readLog(request: LogRequest): Promise<LogReading>
  /** A reading without side effect; undefined when there is no such record. */
  read(fingerprint: string): Promise<RecordView | undefined>
  /** One step of a listing of all records. A cursor that this store never gave is a mistake of the caller. */
  list(request: ListRequest): Promise<RecordsPage>
  /** `stale`: another execution holds it by now, it runs, or there is none. */
  remove(request: ExecutionName): Promise<SettleResult>
  /** The stored answer, or undefined when there is none. */
  readResponse(fingerprint: string): Promise<KeptResponse | undefined>
  /**
   * Calls back after each settling of the fingerprint, each piece of its log, and when it is its turn in its group, by whichever gateway, from the moment the promise resolves until
   * the returned function is called. A call may be spurious, and one may be lost with a connection: read, then decide.
   */
  watch(fingerprint: string, onChange: () => void): Promise<() => void>
  /** The deployment's secret: the one kept before, else `candidate`, atomically. */
  secret(candidate: string): Promise<string>
  /** Resolves when the store answers. */
  ping(): Promise<void>
  close(): Promise<void>
}

/** The store did not answer in time or refused. Whether the verb was applied is not known. */
export class StoreUnavailable extends Error {
  override name = 'StoreUnavailable'
  constructor(verb: string, cause?: unknown) {
    super(`the store did not answer: ${verb}`, { cause })
  }
}

/** There is no room for a further execution, and there will be none in a moment. This call has granted nothing. */
export class StoreFull extends StoreUnavailable {
  override name = 'StoreFull'
}
