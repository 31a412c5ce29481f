// /records/<fingerprint>: how a record stands, and an operator's word on it.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { createHash } from 'node:crypto'
import type { RuleConfig } from '../config/gateway-config.ts'
import { removeByHand } from '../idempotency/remove-by-hand.ts'
import { settleByHand, unknownRecord, type Word } from '../idempotency/settle-by-hand.ts'
import { storedHeaders } from '../idempotency/stored-headers.ts'
import { passedOn } from '../model/headers.ts'
import { problem, type Problem } from '../model/problems.ts'
import type { StoredResponse } from '../model/stored-response.ts'
import { type GivenResult, readGivenResult } from './given-result.ts'
import { adminDocument, auditChange, auditRefusal, readReason, type RecordsRoutes, sendJson, withRecord } from './records-context.ts'
import { sendProblem } from './send-problem.ts'
import { timeline } from './timeline.ts'

type RecordRequest = FastifyRequest<{ Params: { fingerprint: string } }>

/** `release`: it has not happened. `complete`: it has, with this result. `fail`: it failed, with this answer or none. */
const ACTIONS = { release: 'failed', complete: 'completed', fail: 'failed' } as const

type Action = keyof typeof ACTIONS

export function addRecordsRoutes(app: FastifyInstance, records: RecordsRoutes): void {
  app.get('/records/:fingerprint', async ({ params: { fingerprint } }: RecordRequest, reply) => {
    const found = await withRecord(records, fingerprint, () => records.store.read(fingerprint))
    if (found === undefined) return sendProblem(reply, unknownRecord())
    if ('name' in found) return sendProblem(reply, found)
    return sendJson(reply, { ...adminDocument(found), timeline: timeline(found, records.history.of(fingerprint)) })
  })
  app.delete('/records/:fingerprint', async (request: RecordRequest, reply) => remove(records, request, reply))
  for (const action of Object.keys(ACTIONS) as Action[]) {
    app.post(`/records/:fingerprint/${action}`, async (request: RecordRequest, reply) => settle(records, action, request, reply))
  }
}

async function settle(records: RecordsRoutes, action: Action, request: RecordRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { fingerprint } = request.params
  const reason = readReason(request)
  const given = typeof reason === 'object' ? reason : givenWith(action, request.body)
  const word: Word = {
    fingerprint,
    to: ACTIONS[action],
    response: (rule) => (given === undefined || 'name' in given ? given : asStored(given, rule)),
  }
  // What cannot be read is told before anything is looked up.
  const result =
    given !== undefined && 'name' in given
      ? given
      : await withRecord(records, fingerprint, () => settleByHand(records.store, records.rules, word))
  const act = { audit: action, request, fingerprint, reason: typeof reason === 'object' ? undefined : reason }
  if ('name' in result) {
    auditRefusal(records, act, result)
    return sendProblem(reply, result)
  }
  const { before, after } = result
  records.metrics.learned(word.to)
  records.history.byOperator(before, { from: before.status, to: word.to, reason: act.reason })
  auditChange(records, act, { before, after: after?.status ?? 'gone' })
  return sendJson(reply, adminDocument(after ?? before))
}

async function remove(records: RecordsRoutes, request: RecordRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { fingerprint } = request.params
  const reason = readReason(request)
  if (typeof reason === 'object') return sendProblem(reply, reason)
  const act = { audit: 'purge', request, fingerprint, reason }
  const removed = await withRecord(records, fingerprint, async () => {
    const seen = await records.store.read(fingerprint)
    return seen === undefined ? unknownRecord() : removeByHand(records.store, seen)
  })
  if ('name' in removed) {
    auditRefusal(records, act, removed)
    return sendProblem(reply, removed)
  }
  records.history.byOperator(removed, { from: removed.status, to: 'removed', reason })
  auditChange(records, act, { before: removed, after: 'removed' })
  return sendJson(reply, adminDocument(removed))
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
