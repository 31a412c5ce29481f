// The records on disk: each a list of values in a fixed order. The names of the fields would take more room, and more time to
// read and write, than what they name.
import type { Database } from 'lmdb'
import type { ResponseHead } from '../../model/stored-response.ts'
import type { KeptRecord, OpenLog } from '../transitions.ts'

/** `indexedAt`: where the expiry index names this record; 0: nowhere. */
export interface LmdbRecord extends KeptRecord {
  readonly indexedAt: number
}

type HeadList = [
  ResponseHead['status'],
  ResponseHead['headers'],
  ResponseHead['bodyHash'],
  ResponseHead['bodyBytes'],
  ResponseHead['bodyStored'],
]

/** What every record has; then the head of its answer, and what is being appended, where there is such. */
export type RecordList = [
  rule: LmdbRecord['rule'],
  owner: LmdbRecord['owner'],
  digest: LmdbRecord['digest'],
  digestFields: LmdbRecord['digestFields'],
  status: LmdbRecord['status'],
  attempt: LmdbRecord['attempt'],
  executionId: LmdbRecord['executionId'],
  after: LmdbRecord['after'],
  duplicates: LmdbRecord['duplicates'],
  createdAt: LmdbRecord['createdAt'],
  startedAt: LmdbRecord['startedAt'],
  updatedAt: LmdbRecord['updatedAt'],
  leaseUntil: LmdbRecord['leaseUntil'],
  expiresAt: LmdbRecord['expiresAt'],
  indexedAt: LmdbRecord['indexedAt'],
  head: HeadList | null,
  log: [status: OpenLog['head']['status'], headers: OpenLog['head']['headers'], bytes: number, overflow: boolean] | null,
  cancelled: LmdbRecord['cancelled'],
  /** Only where somebody waits. */
  waiter?: [executionId: string, until: number] | null,
  tombstoneUntil?: number,
  names?: readonly string[],
]

export class RecordTable {
  readonly #lists: Database<RecordList, string>

  constructor(lists: Database<RecordList, string>) {
    this.#lists = lists
  }

  getStats(): object {
    return this.#lists.getStats()
  }

  get(fingerprint: string): LmdbRecord | undefined {
    const list = this.#lists.get(fingerprint)
    return list && fromList(list)
  }

  /** Inside a transaction, as every write. */
  put(fingerprint: string, record: LmdbRecord): Promise<boolean> {
    return this.#lists.put(fingerprint, toList(record))
  }

  remove(fingerprint: string): Promise<boolean> {
    return this.#lists.remove(fingerprint)
  }

  /** So many records, in the order of their names, from the first one after `fingerprint` on. */
  after(fingerprint: string | undefined, limit: number): [fingerprint: string, record: LmdbRecord][] {
    const from = fingerprint === undefined ? {} : { start: fingerprint, exclusiveStart: true }
    return [...this.#lists.getRange({ ...from, limit })].map(({ key, value }) => [key, fromList(value)])
  }

  fingerprints(): string[] {
    return [...this.#lists.getKeys()]
  }
}

function toList(record: LmdbRecord): RecordList {
  const { head, log } = record
  return [
    record.rule,
    record.owner,
    record.digest,
    record.digestFields,
    record.status,
    record.attempt,
    record.executionId,
    record.after,
    record.duplicates,
    record.createdAt,
    record.startedAt,
    record.updatedAt,
    record.leaseUntil,
    record.expiresAt,
    record.indexedAt,
    head === undefined ? null : [head.status, head.headers, head.bodyHash, head.bodyBytes, head.bodyStored],
    log === undefined ? null : [log.head.status, log.head.headers, log.bytes, log.overflow],
    record.cancelled,
    ...seldom(record),
  ]
}

const NO_NAMES: readonly string[] = []

/** What most records do not have. */
function seldom({ waiter, tombstoneUntil, names }: LmdbRecord): [] | [[string, number] | null, number, readonly string[]] {
  if (waiter === undefined && tombstoneUntil === 0 && names.length === 0) return []
  return [waiter === undefined ? null : [waiter.executionId, waiter.until], tombstoneUntil, names]
}

function fromList(list: RecordList): LmdbRecord {
  const head = list[15]
  const log = list[16]
  const waiter = list[18]
  return {
    rule: list[0],
    owner: list[1],
    digest: list[2],
    digestFields: list[3],
    status: list[4],
    attempt: list[5],
    executionId: list[6],
    after: list[7],
    duplicates: list[8],
    createdAt: list[9],
    startedAt: list[10],
    updatedAt: list[11],
    leaseUntil: list[12],
    expiresAt: list[13],
    indexedAt: list[14],
    head: head === null ? undefined : { status: head[0], headers: head[1], bodyHash: head[2], bodyBytes: head[3], bodyStored: head[4] },
    log: log === null ? undefined : { head: { status: log[0], headers: log[1] }, bytes: log[2], overflow: log[3] },
    cancelled: list[17],
    waiter: waiter ? { executionId: waiter[0], until: waiter[1] } : undefined,
    tombstoneUntil: list[19] ?? 0,
    names: list[20] ?? NO_NAMES,
  }
}
