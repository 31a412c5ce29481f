// GET /status/<fingerprint>/result: the stored answer to its owner, or the one that is being made.
import { problem } from '../model/problems.ts'
import { isInFlight, type RecordView } from '../model/record.ts'
import type { FingerprintKeys } from '../fingerprint/keys.ts'
import type { Answer } from '../idempotency/answer.ts'
import { waitForHead } from '../idempotency/attach.ts'
import { timeLeft } from '../idempotency/gate.ts'
import { expired, storeUnavailable } from '../idempotency/refuse.ts'
import { followed, joinedHeaders, replay, type Resume } from '../idempotency/replay.ts'
import { StoreUnavailable } from '../stores/store.ts'
import type { Exchange } from './exchange.ts'
import { sendFollow } from './send-follow.ts'
import { isOwner, maxWait, type StatusRoute, unknownFingerprint, waiterOf } from './status-pages.ts'
import { wantsEvents } from './status-stream.ts'

export function sendResult(route: StatusRoute, exchange: Exchange, fingerprint: string, keys: FingerprintKeys): Promise<number> {
  return send(route, exchange, { fingerprint, keys, joins: wantsEvents(exchange) })
}

/** The stream again, for a client that comes back with the id of an event: live or stored. */
export async function resumeStream(route: StatusRoute, exchange: Exchange, fingerprint: string, keys: FingerprintKeys): Promise<number> {
  try {
    return await send(route, exchange, { fingerprint, keys, joins: true })
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    return exchange.sendProblem(storeUnavailable())
  }
}

interface Asked {
  readonly fingerprint: string
  readonly keys: FingerprintKeys
  /** A stream in flight is joined. */
  readonly joins: boolean
}

async function send(route: StatusRoute, exchange: Exchange, asked: Asked): Promise<number> {
  const { store } = route.gate
  const { fingerprint, keys } = asked
  const record = await store.read(fingerprint)
  // "Not yours" and "never existed" look alike.
  if (record === undefined || !(await isOwner(route, exchange, record, keys))) return exchange.sendProblem(unknownFingerprint())
  if (isInFlight(record.status)) return asked.joins ? join(route, exchange, record, asked) : refuseRunning(route, exchange, record)
  if (record.status === 'expired') return exchange.sendProblem(expired(fingerprint))
  const response = await store.readResponse(fingerprint)
  if (response === undefined) return exchange.sendProblem(problem('outcome-unknown', 'There is no stored answer.', { fingerprint }))
  return sendStored(route, exchange, record, await replay(store, response, record, resumeOf(route, exchange, record)))
}

/** Attaches to a stream in flight. */
async function join(route: StatusRoute, exchange: Exchange, record: RecordView, asked: Asked): Promise<number> {
  const found = await waitForHead(route.gate, record, waiterOf(exchange, maxWait(route, record)))
  if (found === 'limit') return refuseRunning(route, exchange, record)
  if (found === 'settled') return send(route, exchange, asked)
  return sendStored(route, exchange, record, await followed(found, exchange.lastEventId, joinedHeaders(record.fingerprint)))
}

async function sendStored(route: StatusRoute, exchange: Exchange, record: RecordView, answer: Answer): Promise<number> {
  const rule = route.rules.get(record.rule)?.config
  switch (answer.kind) {
    case 'replay':
      await exchange.sendReplay(answer.response, answer.headers)
      return answer.response.head.status
    case 'follow':
      await sendFollow(exchange, answer, { live: route.gate.live, rule })
      return answer.answer.head.status
    case 'problem':
      return exchange.sendProblem(answer.problem)
    default:
      throw new TypeError(`a stored answer is not ${answer.kind}`)
  }
}

function resumeOf(route: StatusRoute, { lastEventId }: Exchange, record: RecordView): Resume {
  return { lastEventId, streamIds: route.rules.get(record.rule)?.config.streamIds ?? false }
}

function refuseRunning(route: StatusRoute, exchange: Exchange, record: RecordView): number {
  return exchange.sendProblem(inFlight(route, record))
}

function inFlight(route: StatusRoute, record: RecordView) {
  const rule = route.rules.get(record.rule)
  const retryAfterMs = rule === undefined ? 1000 : timeLeft(route.gate, rule.config, record)
  return problem('in-flight', 'The execution is still running: ask again for its result.', {
    fingerprint: record.fingerprint,
    retryAfterMs,
  })
}
