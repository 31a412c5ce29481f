// What the statements answer, in the words of the state machine.
import type { AnswerHead, KeptResponse, ResponseHead } from '../../model/stored-response.ts'
import type { Claim } from '../store.ts'
import type { Granted, KeptRecord, Refusal } from '../transitions.ts'
import { refusalClaim } from '../refusal-claim.ts'
import { viewOf } from '../transitions.ts'

/** A record's columns but its body, as every statement that answers with a record names them. */
export const COLUMNS = [
  'fingerprint',
  'execution',
  'status',
  'attempt',
  'after',
  'rule',
  'owner',
  'digest',
  'digest_fields',
  'duplicates',
  'created_at',
  'started_at',
  'updated_at',
  'lease_until',
  'expires_at',
  'cancelled',
  'waiter',
  'wait_until',
  'tombstone_until',
  'head',
  'body_stored',
  'log',
  'log_head',
  'log_bytes',
  'log_dropped',
] as const

export interface RecordRow {
  readonly read_at: number
  readonly fingerprint: string
  readonly execution: string
  readonly status: KeptRecord['status']
  readonly attempt: number
  readonly after: Granted['after']
  readonly rule: string
  readonly owner: string
  readonly digest: string
  readonly digest_fields: string
  readonly duplicates: number
  readonly created_at: number
  readonly started_at: number
  readonly updated_at: number
  readonly lease_until: number
  readonly expires_at: number | null
  readonly cancelled: boolean
  readonly waiter: string | null
  readonly wait_until: number
  readonly tombstone_until: number
  readonly head: string | null
  readonly body_stored: boolean
  readonly body: Buffer | null
  readonly log: number | null
  readonly log_head: string | null
  readonly log_bytes: number
  readonly log_dropped: boolean
}

export interface ClaimRow extends RecordRow {
  readonly kind: 'acquired' | 'busy' | 'pending' | 'name_used' | Refusal
  /** Numbers from 1, with a space between. */
  readonly places: string | null
  readonly held: number | null
}

/** One that a read may answer with: there may be no record, and the server may be no primary. */
export type ReadRow = RecordRow & { readonly read_only: boolean; readonly bytes?: Buffer | null }

const NO_BODY = Buffer.alloc(0)

export function readRecord(row: RecordRow): KeptRecord {
  return {
    rule: row.rule,
    owner: row.owner,
    digest: row.digest,
    digestFields: row.digest_fields,
    status: row.status,
    attempt: row.attempt,
    executionId: row.execution,
    after: row.after,
    duplicates: row.duplicates,
    createdAt: row.created_at,
    startedAt: row.started_at,
    updatedAt: row.updated_at,
    leaseUntil: row.lease_until,
    expiresAt: row.expires_at ?? Infinity,
    head: row.head === null ? undefined : readHead(row.head, row.body_stored),
    log: row.log_head === null ? undefined : { head: readAnswerHead(row.log_head), bytes: row.log_bytes, overflow: row.log_dropped },
    cancelled: row.cancelled,
    waiter: row.waiter === null ? undefined : { executionId: row.waiter, until: row.wait_until },
    tombstoneUntil: row.tombstone_until,
    // The statements alone look at them.
    names: [],
  }
}

export function readClaim(row: ClaimRow): Claim {
  const { kind, fingerprint, attempt, after } = row
  if (kind === 'acquired') return { kind, fingerprint, attempt, after }
  if (kind === 'name_used') return { kind, places: (row.places ?? '').split(' ').map((place) => Number(place) - 1) }
  if (kind === 'busy') return { kind, heldMs: row.held ?? 0 }
  const record = readRecord(row)
  const view = viewOf(fingerprint, record, row.read_at)
  if (kind === 'pending') return { kind, record: view, heldMs: row.held ?? 0 }
  return refusalClaim(kind, { view, digestFields: record.digestFields, body: inlineBody(row) })
}

/** The stored answer, or undefined where there is none. */
export function readStored(row: RecordRow): KeptResponse | undefined {
  return row.head === null ? undefined : { head: readHead(row.head, row.body_stored), body: inlineBody(row) }
}

/** A body that was stored and is in pieces does not come along. */
function inlineBody({ body_stored, log, body }: RecordRow): Buffer | undefined {
  return body_stored && log !== null ? undefined : (body ?? NO_BODY)
}

/** Whether there is a body stands in a column of its own: the settling decides it. */
export function writeHead({ status, headers, bodyHash, bodyBytes }: ResponseHead): string {
  return JSON.stringify([status, headers, bodyHash, bodyBytes])
}

export function writeAnswerHead({ status, headers }: AnswerHead): string {
  return JSON.stringify([status, headers])
}

function readHead(text: string, bodyStored: boolean): ResponseHead {
  const [status, headers, bodyHash, bodyBytes]: [number, string[], string, number] = JSON.parse(text)
  return { status, headers, bodyHash, bodyBytes, bodyStored }
}

function readAnswerHead(text: string): AnswerHead {
  const [status, headers]: [number, string[]] = JSON.parse(text)
  return { status, headers }
}
