// GET /status/<fingerprint>: how a record stands; /result: its stored answer, to its owner.
import { timingSafeEqual } from 'node:crypto'
import { headerLines, passedOn } from '../model/headers.ts'
import { problem } from '../model/problems.ts'
import type { RecordView } from '../model/record.ts'
import { isIssued, type FingerprintKeys } from '../fingerprint/keys.ts'
import { ownerTag } from '../fingerprint/owner.ts'
import type { Rule } from '../fingerprint/compile-rule.ts'
import { type Gate, timeLeft } from '../idempotency/gate.ts'
import { replay } from '../idempotency/replay.ts'
import { storeUnavailable } from '../idempotency/refuse.ts'
import { waitWhileProcessing } from '../idempotency/wait.ts'
import { StoreUnavailable } from '../stores/store.ts'
import type { Exchange } from './exchange.ts'
import { wholeSeconds } from './problem-response.ts'
import { requestParts } from './request-parts.ts'
import { sendFollow } from './send-follow.ts'
import type { TokenVerifier } from './verify-token.ts'

/** A status page's path says nothing of the one that was guarded. */
const NO_PATH = { params: {} }

const FINGERPRINT_AND_PAGE = /^\/([A-Za-z0-9_-]{20,64})(\/result)?\/?$/

export interface StatusRoute {
  readonly statusPath: string
  readonly gate: Gate
  readonly keys: () => FingerprintKeys | undefined
  readonly rules: ReadonlyMap<string, Rule>
  readonly verifyToken: TokenVerifier | undefined
}

/** True where the path belongs to the status pages and not to the upstream. */
export function isStatusPath(statusPath: string, path: string): boolean {
  return path.startsWith(statusPath) && path[statusPath.length] === '/'
}

export async function statusRoute(route: StatusRoute, exchange: Exchange): Promise<number> {
  const { method } = exchange.raw
  if (method === 'OPTIONS') return preflight(exchange)
  if (method !== 'GET' && method !== 'HEAD')
    return exchange.sendProblem(problem('method-not-allowed', 'Status pages are read with GET.'), ['Allow', 'GET, HEAD'])
  const keys = route.keys()
  if (keys === undefined) return exchange.sendProblem(storeUnavailable())
  const [, fingerprint, page] = FINGERPRINT_AND_PAGE.exec(exchange.target.path.slice(route.statusPath.length)) ?? []
  // What this deployment never issued is refused without a look into the store.
  if (fingerprint === undefined || !isIssued(fingerprint, keys)) return exchange.sendProblem(unknownFingerprint())
  try {
    return page === undefined ? await sendStatus(route, exchange, fingerprint) : await sendResult(route, exchange, fingerprint, keys)
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    return exchange.sendProblem(storeUnavailable())
  }
}

async function sendStatus(route: StatusRoute, exchange: Exchange, fingerprint: string): Promise<number> {
  const { store } = route.gate
  let record = await store.read(fingerprint)
  const wait = Number(new URLSearchParams(exchange.target.query).get('wait') ?? 0)
  if (record?.status === 'processing' && wait > 0) {
    const maxWait = route.rules.get(record.rule)?.config.inFlight.maxWait ?? 0
    const { client } = exchange
    record = await waitWhileProcessing(store, fingerprint, {
      limitMs: Math.min(wait * 1000, maxWait),
      gone: () => client.gone,
      onGone: (wake) => client.onGone(wake),
    })
  }
  if (record === undefined) return exchange.sendProblem(unknownFingerprint())
  exchange.sendJson(200, statusDocument(route, record), ['Idempotency-Fingerprint', fingerprint])
  return 200
}

async function sendResult(route: StatusRoute, exchange: Exchange, fingerprint: string, keys: FingerprintKeys): Promise<number> {
  const record = await route.gate.store.read(fingerprint)
  // "Not yours" and "never existed" look alike.
  if (record === undefined || !(await isOwner(route, exchange, record, keys))) return exchange.sendProblem(unknownFingerprint())
  if (record.status === 'processing') return exchange.sendProblem(inFlight(route, record))
  const response = await route.gate.store.readResponse(fingerprint)
  if (response === undefined) return exchange.sendProblem(problem('outcome-unknown', 'There is no stored answer.', { fingerprint }))
  const answer = await replay(route.gate.store, response, record, exchange.lastEventId)
  switch (answer.kind) {
    case 'replay':
      await exchange.sendReplay(answer.response, answer.headers)
      return response.head.status
    case 'follow':
      await sendFollow(exchange, answer, { live: route.gate.live })
      return response.head.status
    case 'problem':
      return exchange.sendProblem(answer.problem)
    default:
      throw new TypeError(`a stored answer is not ${answer.kind}`)
  }
}

async function isOwner(route: StatusRoute, exchange: Exchange, record: RecordView, keys: FingerprintKeys): Promise<boolean> {
  const rule = route.rules.get(record.rule)
  if (rule === undefined) return false
  const headers = passedOn(exchange.raw.rawHeaders)
  const token = rule.readsClaims ? await route.verifyToken?.(headerLines(headers, 'authorization')) : undefined
  const request = requestParts(exchange, headers, Buffer.alloc(0))
  const tag = ownerTag(rule, token?.kind === 'verified' ? { ...request, claims: token.claims } : request, NO_PATH, keys)
  if (tag === undefined || tag.length !== record.owner.length) return false
  return timingSafeEqual(Buffer.from(tag), Buffer.from(record.owner))
}

function statusDocument(route: StatusRoute, record: RecordView): object {
  const rule = route.rules.get(record.rule)
  const { response } = record
  return {
    fingerprint: record.fingerprint,
    rule: record.rule,
    status: record.status,
    attempt: record.attempt,
    execution: record.executionId,
    duplicates: record.duplicates,
    created_at: rfc3339(record.createdAt),
    last_updated_at: rfc3339(record.updatedAt),
    expires_at: record.expiresAt === undefined ? undefined : rfc3339(record.expiresAt),
    http_status: response?.status,
    result_hash: response === undefined ? undefined : `sha256:${response.bodyHash}`,
    result_url: response?.bodyStored === true ? `${route.statusPath}/${record.fingerprint}/result` : undefined,
    retry_after: record.status === 'processing' && rule !== undefined ? wholeSeconds(timeLeft(route.gate, rule.config, record)) : undefined,
  }
}

function inFlight(route: StatusRoute, record: RecordView) {
  const rule = route.rules.get(record.rule)
  const retryAfterMs = rule === undefined ? 1000 : timeLeft(route.gate, rule.config, record)
  return problem('in-flight', 'The execution is still running: ask again for its result.', {
    fingerprint: record.fingerprint,
    retryAfterMs,
  })
}

function unknownFingerprint() {
  return problem('unknown-fingerprint', 'No record of this fingerprint: it was never issued here, has expired, or is not yours.')
}

/** Fetch standard, CORS preflight: the answer's own headers say which origins may read the page. */
function preflight(exchange: Exchange): number {
  exchange.send(
    204,
    [
      'Access-Control-Allow-Methods',
      'GET, HEAD',
      'Access-Control-Allow-Headers',
      'Authorization, Idempotency-Key, Prefer',
      'Access-Control-Max-Age',
      '600',
    ],
    Buffer.alloc(0),
  )
  return 204
}

function rfc3339(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}
