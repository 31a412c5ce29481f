// Reads what the scripts answer.
import type { RecordStatus, RecordView } from '../../model/record.ts'
import type { ResponseHead, StoredResponse } from '../../model/stored-response.ts'
import type { AcquireRequest, Claim } from '../store.ts'
import type { Granted } from '../transitions.ts'
import { refusalClaim } from '../transitions.ts'
import type { Reply } from './connect.ts'

const NO_BODY = Buffer.alloc(0)
const STATUSES: readonly string[] = ['processing', 'completed', 'failed', 'unknown'] satisfies RecordStatus[]

export function readClaim(reply: Reply, request: AcquireRequest): Claim {
  const [word, second, third, fields, body] = list(reply)
  const kind = text(word)
  switch (kind) {
    case 'acquired':
      return { kind, attempt: Number(text(second)), after: text(third) as Granted['after'] }
    case 'in_flight':
    case 'completed':
    case 'failed':
    case 'unknown':
    case 'key_reused': {
      const view = readView(request.fingerprint, reply, request)
      return refusalClaim(kind, { view, digestFields: text(list(fields)[10]), body: bytes(body) })
    }
    default:
      throw new TypeError(`acquire answered ${kind}`)
  }
}

/** A claim whose record was evicted has no fields but its holder: `request` then says what is likely. */
export function readView(fingerprint: string, reply: Reply, request?: AcquireRequest): RecordView {
  const [, now, left, fields] = list(reply)
  const [rule, owner, kept, attempt, execution, duplicates, created, started, updated, expires, , head] = list(fields)
  const readAt = Number(text(now))
  // PTTL is -2 when there is no lease.
  const lease = Number(text(left))
  const status = kept === null ? 'processing' : readStatus(text(kept))
  const lapsed = status === 'processing' && lease < 0
  return {
    fingerprint,
    rule: kept === null ? (request?.rule ?? '') : text(rule),
    owner: kept === null ? (request?.owner ?? '') : text(owner),
    status: lapsed ? 'unknown' : status,
    attempt: kept === null ? 1 : Number(text(attempt)),
    executionId: text(execution),
    duplicates: Number(text(duplicates)),
    createdAt: kept === null ? readAt : Number(text(created)),
    startedAt: kept === null ? readAt : Number(text(started)),
    updatedAt: kept === null ? readAt : Number(text(updated)),
    expiresAt: kept === null ? readAt + lease : text(expires) === 'forever' ? undefined : Number(text(expires)),
    readAt,
    leaseLeft: status === 'processing' && !lapsed ? lease : 0,
    response: head instanceof Buffer ? readHead(head) : undefined,
  }
}

export function readStored(head: Reply | undefined, body: Reply | undefined): StoredResponse | undefined {
  return head instanceof Buffer ? { head: readHead(head), body: bytes(body) } : undefined
}

export function writeHead(head: ResponseHead): string {
  return JSON.stringify([head.status, head.headers, head.bodyHash, head.bodyBytes, head.bodyStored])
}

function readHead(head: Buffer): ResponseHead {
  const [status, headers, bodyHash, bodyBytes, bodyStored] = JSON.parse(head.toString()) as [number, string[], string, number, boolean]
  return { status, headers, bodyHash, bodyBytes, bodyStored }
}

function readStatus(word: string): RecordStatus {
  if (!STATUSES.includes(word)) throw new TypeError(`a record has the status ${word}`)
  return word as RecordStatus
}

function list(reply: Reply | undefined): readonly Reply[] {
  if (!Array.isArray(reply)) throw new TypeError('the script did not answer with a list')
  return reply as readonly Reply[]
}

function text(reply: Reply | undefined): string {
  return reply instanceof Buffer ? reply.toString() : ''
}

function bytes(reply: Reply | undefined): Buffer {
  return reply instanceof Buffer ? reply : NO_BODY
}
