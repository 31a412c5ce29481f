// Writes a response that is read as it is wanted: a running execution's answer to whoever has joined it, or a large stored one.
import type { Answer } from '../idempotency/answer.ts'
import { declaredBytes, follow, type Followed } from '../idempotency/follow.ts'
import type { LiveExecutions } from '../idempotency/live-executions.ts'
import { headerValue, withoutHeaders } from '../model/headers.ts'
import type { Requester } from '../model/jsonrpc/requester.ts'
import type { HeaderList } from '../model/stored-response.ts'
import { DecodingClient } from './decoding-client.ts'
import type { StreamedRule } from './event-stream-client.ts'
import type { Exchange } from './exchange.ts'
import { RewritingClient } from './rewriting-client.ts'
import { acceptsCoding, canDecode, identityHeaders } from './replay-body.ts'

export interface FollowedBy {
  readonly live: LiveExecutions
  /** Undefined where the record's rule is no longer there. */
  readonly rule: StreamedRule | undefined
  /** Whom a JSON-RPC answer is addressed to; undefined where the rule does not speak it. */
  readonly requester?: Requester | undefined
}

/** Resolves when the client has the end, or cannot get one. */
export async function sendFollow(
  exchange: Exchange,
  followed: Extract<Answer, { kind: 'follow' }>,
  { live, rule, requester }: FollowedBy,
): Promise<Followed> {
  const { answer, offset, headers } = followed
  const coding = codingToUndo(exchange, answer.head.headers, requester)
  const plain = withoutHeaders(answer.head.headers, CONTENT_LENGTH)
  const own = coding === undefined ? [...plain, ...lengthLeft(followed)] : identityHeaders(plain)
  const ids = { fingerprint: answer.fingerprint, executionId: answer.executionId, before: followed.eventsBefore, prime: offset === 0 }
  const events = rule === undefined ? exchange.client : exchange.streamOf(rule, ids)
  const client = requester === undefined ? events : new RewritingClient(events, requester)
  const stream = coding === undefined ? client : new DecodingClient(client, coding)
  stream.head(answer.head.status, [...own, ...headers, ...exchange.ownHeaders()])
  stream.flushHead()
  const ended = follow(answer, stream, { offset })
  // A gateway whose time is over lets its clients go, visibly unfinished: they may come again, to another.
  live.add({ giveUp: () => stream.break(), settled: ended.then(nothing, nothing) })
  return ended
}

const CONTENT_LENGTH = new Set(['content-length'])

function lengthLeft({ answer: { head, live }, offset }: Extract<Answer, { kind: 'follow' }>): HeaderList {
  const length = live === undefined && 'bodyBytes' in head ? Number(head.bodyBytes) : declaredBytes(head)
  return length === undefined ? [] : ['Content-Length', String(length - offset)]
}

function codingToUndo(exchange: Exchange, headers: HeaderList, requester: Requester | undefined): string | undefined {
  const coding = headerValue(headers, 'content-encoding')?.trim().toLowerCase()
  if (coding === undefined || !canDecode(coding)) return undefined
  // What is rewritten would have to be encoded again.
  if (requester !== undefined) return coding
  const accepted = exchange.raw.headers['accept-encoding']
  return acceptsCoding(accepted === undefined ? undefined : String(accepted), coding) ? undefined : coding
}

function nothing(): void {}
