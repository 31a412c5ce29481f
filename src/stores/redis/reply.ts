// What the scripts are given and what they answer.
import { isInFlight, type RecordStatus, type RecordView } from '../../model/record.ts'
import type { AnswerHead, KeptResponse, ResponseHead } from '../../model/stored-response.ts'
import type { AcquireRequest, Claim, LogReading } from '../store.ts'
import type { Granted } from '../transitions.ts'
import { refusalClaim } from '../refusal-claim.ts'
import type { Reply } from './connect.ts'

const NO_BODY = Buffer.alloc(0)

/** What a record keeps of its first request without any script looking at it: one field, written once. */
interface About {
  readonly rule: string
  readonly owner: string
  readonly digestFields: string
}

export function writeAbout({ rule, owner, digestFields }: About): string {
  return JSON.stringify([rule, owner, digestFields])
}

/** Its end tells the scripts whether there is a body, and they change it where there is none any more. */
export function writeHead(head: ResponseHead): string {
  return JSON.stringify([head.status, head.headers, head.bodyHash, head.bodyBytes, head.bodyStored])
}

export function writeAnswerHead(head: AnswerHead): string {
  return JSON.stringify([head.status, head.headers])
}

export function readClaim(reply: Reply, request: AcquireRequest): Claim {
  if (reply instanceof Buffer) return readWord(reply, request)
  const [decided, clock, fields, body] = list(reply)
  const [kind, name, held] = text(decided).split(' ')
  switch (kind) {
    case 'pending':
      return { kind, record: readFields(nameAt(request, Number(name)), { clock, fields, asked: request }).view, heldMs: Number(held) }
    case 'in_flight':
    case 'completed':
    case 'failed':
    case 'unknown':
    case 'expired':
    case 'key_reused': {
      const { view, digestFields } = readFields(nameAt(request, Number(name)), { clock, fields, asked: request })
      return refusalClaim(kind, { view, digestFields, body: bodyOf(view.response, body) })
    }
    default:
      throw new TypeError(`acquire answered ${kind}`)
  }
}

function readWord(reply: Buffer, request: AcquireRequest): Claim {
  const [kind, ...words] = text(reply).split(' ')
  if (kind === 'name_used') return { kind, places: words.map(Number) }
  const [name, attempt, after = ''] = words
  if (kind === 'busy') return { kind, heldMs: Number(name) }
  if (kind !== 'acquired') throw new TypeError(`acquire answered ${kind}`)
  return {
    kind,
    fingerprint: nameAt(request, Number(name)),
    attempt: Number(attempt),
    after: oneOf(after, ['none', 'failed', 'unknown', 'completed'] satisfies Granted['after'][]),
  }
}

/** The names in the order of the script's KEYS, from 1. */
function nameAt({ fingerprint, aliases }: AcquireRequest, place: number): string {
  const name = place === 1 ? fingerprint : aliases?.[place - 2]
  if (name === undefined) throw new TypeError(`acquire answered for name ${place}`)
  return name
}

export function readRecord(fingerprint: string, reply: Reply): RecordView {
  const [clock, fields] = list(reply)
  return readFields(fingerprint, { clock, fields }).view
}

const STATUSES: readonly RecordStatus[] = ['pending', 'processing', 'completed', 'failed', 'unknown', 'expired']
const NOBODY: About = { rule: '', owner: '', digestFields: '' }
/** How a script writes a word that is not there. */
const ABSENT = '-'

/** Fields that are absent have never changed since the record was made. `asked` stands in where the record was evicted. */
function readFields(
  fingerprint: string,
  { clock, fields, asked = NOBODY }: { clock: Reply | undefined; fields: Reply | undefined; asked?: About },
): { view: RecordView; digestFields: string } {
  const [now, left] = text(clock).split(' ')
  const [words, aboutText, head] = list(fields)
  const [kept = '', execution = '', created, expires, started, updated, attempt, duplicates] = text(words).split(' ')
  const readAt = Number(now)
  // Below zero when there is no lease.
  const lease = Number(left)
  const status = kept === ABSENT ? 'processing' : oneOf(kept, STATUSES)
  const lapsed = status === 'processing' && lease < 0
  const about = aboutText instanceof Buffer ? readAbout(aboutText) : asked
  const createdAt = numberOr(created, readAt)
  const startedAt = numberOr(started, createdAt)
  const view: RecordView = {
    fingerprint,
    rule: about.rule,
    owner: about.owner,
    status: lapsed ? 'unknown' : status,
    attempt: numberOr(attempt, 1),
    executionId: execution,
    duplicates: numberOr(duplicates, 0),
    createdAt,
    startedAt,
    updatedAt: numberOr(updated, startedAt),
    expiresAt: expires === 'forever' ? undefined : numberOr(expires, readAt + lease),
    readAt,
    leaseLeft: isInFlight(status) && !lapsed ? lease : 0,
    response: head instanceof Buffer ? readHead(head) : undefined,
  }
  return { view, digestFields: about.digestFields }
}

export function readStored(reply: Reply): KeptResponse | undefined {
  const [, fields, body] = list(reply)
  const head = list(fields)[2]
  if (!(head instanceof Buffer)) return undefined
  const response = readHead(head)
  return { head: response, body: bodyOf(response, body) }
}

/** A body that was stored and does not come along is large, and in the log. */
function bodyOf(head: ResponseHead | undefined, body: Reply | undefined): Buffer | undefined {
  return body instanceof Buffer || head?.bodyStored !== true ? bytes(body) : undefined
}

export function readLogReading(fingerprint: string, reply: Reply): LogReading {
  const [word, second, third, fourth] = list(reply)
  switch (text(word)) {
    case 'open':
      return {
        kind: 'open',
        leaseLeft: Number(text(second)),
        head: third instanceof Buffer ? readAnswerHead(third) : undefined,
        bytes: bytes(fourth),
      }
    case 'closed':
      if (!(second instanceof Buffer)) throw new TypeError('read-log answered without a head')
      return { kind: 'closed', head: readHead(second), bytes: bytes(third) }
    case 'gone':
      return { kind: 'gone', record: second === undefined ? undefined : readFields(fingerprint, { clock: second, fields: third }).view }
    default:
      throw new TypeError(`read-log answered ${text(word)}`)
  }
}

function readAnswerHead(head: Buffer): AnswerHead {
  const [status, headers]: [number, string[]] = JSON.parse(head.toString())
  return { status, headers }
}

function readHead(head: Buffer): ResponseHead {
  const [status, headers, bodyHash, bodyBytes, bodyStored]: [number, string[], string, number, boolean] = JSON.parse(head.toString())
  return { status, headers, bodyHash, bodyBytes, bodyStored }
}

function readAbout(about: Buffer): About {
  const [rule, owner, digestFields]: [string, string, string] = JSON.parse(about.toString())
  return { rule, owner, digestFields }
}

export function oneOf<W extends string>(word: string, words: readonly W[]): W {
  const found = words.find((each) => each === word)
  if (found === undefined) throw new TypeError(`the store holds ${word} where it should hold one of ${words.join(', ')}`)
  return found
}

function list(reply: Reply | undefined): readonly Reply[] {
  if (!isList(reply)) throw new TypeError('the script did not answer with a list')
  return reply
}

function isList(reply: Reply | undefined): reply is readonly Reply[] {
  return Array.isArray(reply)
}

function numberOr(word: string | undefined, absent: number): number {
  return word === undefined || word === ABSENT ? absent : Number(word)
}

export function text(reply: Reply | undefined): string {
  return reply instanceof Buffer ? reply.toString() : ''
}

function bytes(reply: Reply | undefined): Buffer {
  return reply instanceof Buffer ? reply : NO_BODY
}
