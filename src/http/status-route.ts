// The pages under the status path: how a record stands, its result, and its cancelling.
import { problem } from '../model/problems.ts'
import { isInFlight } from '../model/record.ts'
import { isIssued, type FingerprintKeys } from '../fingerprint/keys.ts'
import { storeUnavailable } from '../idempotency/refuse.ts'
import { waitWhileProcessing } from '../idempotency/wait.ts'
import { StoreUnavailable } from '../stores/store.ts'
import type { Exchange } from './exchange.ts'
import { sendResult } from './result-page.ts'
import { isOwner, maxWait, statusDocument, type StatusRoute, unknownFingerprint, waiterOf } from './status-pages.ts'
import { streamStatus, wantsEvents } from './status-stream.ts'

/** A gateway that runs the execution gives it up at once; another learns of it at its next renewal. */
const CANCEL_WAIT_MS = 2000

const FINGERPRINT_AND_PAGE = /^\/([A-Za-z0-9_-]{20,64})(\/result)?\/?$/

/** True where the path belongs to the status pages and not to the upstream. */
export function isStatusPath(statusPath: string, path: string): boolean {
  return path.startsWith(statusPath) && path[statusPath.length] === '/'
}

export async function statusRoute(route: StatusRoute, exchange: Exchange): Promise<number> {
  const { method } = exchange.raw
  if (method === 'OPTIONS') return preflight(exchange)
  const keys = route.keys()
  if (keys === undefined) return exchange.sendProblem(storeUnavailable())
  const [, fingerprint, page] = FINGERPRINT_AND_PAGE.exec(exchange.target.path.slice(route.statusPath.length)) ?? []
  if (!(page === undefined ? STATUS_METHODS : RESULT_METHODS).includes(method!)) return refuseMethod(exchange, page)
  // What this deployment never issued is refused without a look into the store.
  if (fingerprint === undefined || !isIssued(fingerprint, keys)) return exchange.sendProblem(unknownFingerprint())
  try {
    if (page !== undefined) return await sendResult(route, exchange, fingerprint, keys)
    return method === 'DELETE' ? await cancel(route, exchange, fingerprint, keys) : await sendStatus(route, exchange, fingerprint)
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    return exchange.sendProblem(storeUnavailable())
  }
}

const STATUS_METHODS = ['GET', 'HEAD', 'DELETE']
const RESULT_METHODS = ['GET', 'HEAD']

function refuseMethod(exchange: Exchange, page: string | undefined): number {
  const allow = (page === undefined ? STATUS_METHODS : RESULT_METHODS).join(', ')
  return exchange.sendProblem(problem('method-not-allowed', `This page knows ${allow}.`), ['Allow', allow])
}

async function sendStatus(route: StatusRoute, exchange: Exchange, fingerprint: string): Promise<number> {
  const { store } = route.gate
  let record = await store.read(fingerprint)
  if (record === undefined) return exchange.sendProblem(unknownFingerprint())
  if (wantsEvents(exchange)) return streamStatus(route.gate, exchange, record, (each) => statusDocument(route, each))
  const wait = Number(new URLSearchParams(exchange.target.query).get('wait') ?? 0)
  if (isInFlight(record.status) && wait > 0) {
    record = await waitWhileProcessing(store, fingerprint, waiterOf(exchange, Math.min(wait * 1000, maxWait(route, record))))
    if (record === undefined) return exchange.sendProblem(unknownFingerprint())
  }
  exchange.sendJson(200, statusDocument(route, record), ['Idempotency-Fingerprint', fingerprint])
  return 200
}

/** Cancels a running execution for its owner. 202: its gateway will be told, but has not given it up yet. */
async function cancel(route: StatusRoute, exchange: Exchange, fingerprint: string, keys: FingerprintKeys): Promise<number> {
  const { store, live } = route.gate
  let record = await store.read(fingerprint)
  if (record === undefined || !(await isOwner(route, exchange, record, keys))) return exchange.sendProblem(unknownFingerprint())
  if (isInFlight(record.status)) {
    if (!live.cancel(record.executionId)) await store.cancel(record)
    record = (await waitWhileProcessing(store, fingerprint, waiterOf(exchange, CANCEL_WAIT_MS))) ?? record
  }
  const status = isInFlight(record.status) ? 202 : 200
  exchange.sendJson(status, statusDocument(route, record), ['Idempotency-Fingerprint', fingerprint])
  return status
}

/** Fetch standard, CORS preflight: the answer's own headers say which origins may read the page. */
function preflight(exchange: Exchange): number {
  exchange.send(
    204,
    [
      'Access-Control-Allow-Methods',
      'GET, HEAD, DELETE',
      'Access-Control-Allow-Headers',
      'Authorization, Idempotency-Key, Last-Event-ID, Prefer',
      'Access-Control-Max-Age',
      '600',
    ],
    Buffer.alloc(0),
  )
  return 204
}
