// /records/<fingerprint>: how a record stands, and an operator's word on one whose outcome is unknown.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { createHash } from 'node:crypto'
import type { RuleConfig } from '../config/gateway-config.ts'
import { type FingerprintKeys, isIssued } from '../fingerprint/keys.ts'
import { storeUnavailable } from '../idempotency/refuse.ts'
import { settleByHand, type SettledByHand, unknownRecord, type Word } from '../idempotency/settle-by-hand.ts'
import { storedHeaders } from '../idempotency/stored-headers.ts'
import { passedOn } from '../model/headers.ts'
import type { Metrics } from '../model/metrics.ts'
import { problem, type Problem } from '../model/problems.ts'
import { recordDocument } from '../model/record-document.ts'
import type { StoredResponse } from '../model/stored-response.ts'
import { type Store, StoreUnavailable } from '../stores/store.ts'
import { type GivenResult, readGivenResult } from './given-result.ts'
import { sendProblem } from './send-problem.ts'

export interface RecordsRoutes {
  readonly store: Store
  readonly rules: ReadonlyMap<string, { readonly config: RuleConfig }>
  /** Undefined until the store has given the deployment's secret. */
  readonly keys: () => FingerprintKeys | undefined
  readonly log: AuditLog
  readonly metrics: Pick<Metrics, 'learned'>
  /** What whoever comes here has shown, for the log. */
  readonly credential: 'adminToken' | 'none'
}

export interface AuditLog {
  info(details: object, message: string): void
  warn(details: object, message: string): void
}

type RecordRequest = FastifyRequest<{ Params: { fingerprint: string } }>

/** `release`: it has not happened. `complete`: it has, with this result. `fail`: it failed, with this answer or none. */
const ACTIONS = { release: 'failed', complete: 'completed', fail: 'failed' } as const

type Action = keyof typeof ACTIONS

export function addRecordsRoutes(app: FastifyInstance, records: RecordsRoutes): void {
  app.get('/records/:fingerprint', async (request: RecordRequest, reply) => {
    const found = await answering(records, request.params.fingerprint, () => records.store.read(request.params.fingerprint))
    if (found === undefined) return sendProblem(reply, unknownRecord())
    return 'name' in found ? sendProblem(reply, found) : sendRecord(reply, found)
  })
  for (const action of Object.keys(ACTIONS) as Action[]) {
    app.post(`/records/:fingerprint/${action}`, async (request: RecordRequest, reply) => settle(records, action, request, reply))
  }
}

async function settle(records: RecordsRoutes, action: Action, request: RecordRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { fingerprint } = request.params
  const given = givenWith(action, request.body)
  const word: Word = {
    fingerprint,
    to: ACTIONS[action],
    response: (rule) => (given === undefined || 'name' in given ? given : asStored(given, rule)),
  }
  // What cannot be read is told before anything is looked up.
  const result =
    given !== undefined && 'name' in given
      ? given
      : await answering(records, fingerprint, () => settleByHand(records.store, records.rules, word))
  if (!('name' in result)) records.metrics.learned(word.to)
  audit(records, action, request, result)
  if ('name' in result) return sendProblem(reply, result)
  return sendRecord(reply, result.after ?? result.before)
}

/** Nothing is given with a release; with a failure something may be. */
function givenWith(action: Action, body: unknown): GivenResult | Problem | undefined {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
  if (action === 'release') return bytes.length === 0 ? undefined : problem('body-invalid', 'Nothing is given with a release.')
  return action === 'fail' && bytes.length === 0 ? undefined : readGivenResult(bytes)
}

function asStored({ status, headers, body }: GivenResult, rule: RuleConfig | undefined): StoredResponse | Problem {
  if (rule !== undefined && body.length > rule.maxResult) {
    return problem('body-too-large', `The result is over the rule's maxResult of ${rule.maxResult} bytes.`)
  }
  const stored = storedHeaders(passedOn(headers), rule?.replayHeaders ?? { add: [], drop: [] })
  const bodyHash = createHash('sha256').update(body).digest('hex')
  return { head: { status, headers: stored, bodyHash, bodyBytes: body.length, bodyStored: true }, body }
}

/** What this deployment never issued costs no look into the store. */
async function answering<T>(records: RecordsRoutes, fingerprint: string, work: () => Promise<T>): Promise<T | Problem> {
  const keys = records.keys()
  if (keys === undefined) return storeUnavailable()
  if (!isIssued(fingerprint, keys)) return unknownRecord()
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    return storeUnavailable()
  }
}

function sendRecord(reply: FastifyReply, record: Parameters<typeof recordDocument>[0]): FastifyReply {
  return reply
    .header('Cache-Control', 'no-store')
    .type('application/json')
    .send(`${JSON.stringify(recordDocument(record))}\n`)
}

/** Who did what to which record, and what it came to; never what is in it. */
function audit({ log, credential }: RecordsRoutes, action: Action, request: RecordRequest, result: SettledByHand | Problem): void {
  const by = {
    audit: action,
    address: request.ip,
    credential,
    fingerprint: request.params.fingerprint,
  }
  if ('name' in result) {
    log.warn({ ...by, refused: result.name, before: result.members?.['record_status'] }, 'an operator did not settle a record')
    return
  }
  const { before, after } = result
  const { rule, attempt, executionId: execution } = before
  log.info({ ...by, rule, attempt, execution, before: before.status, after: after?.status ?? 'gone' }, 'an operator settled a record')
}
