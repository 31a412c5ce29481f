// From a request, or from a client's key, to its record: how it would be identified, and what the store has under that name.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Explanation } from '../fingerprint/explain.ts'
import type { FingerprintKeys } from '../fingerprint/keys.ts'
import { withFields } from '../fingerprint/with-fields.ts'
import { type Problem } from '../model/problems.ts'
import { invalid, isProblem, readObject } from './record-filter.ts'
import { adminDocument, type RecordsRoutes, sendJson, withKeys } from './records-context.ts'
import { sendProblem } from './send-problem.ts'
import { readToldKey, readToldRequest, type ToldRequest } from './told-request.ts'

export function addFindRoutes(app: FastifyInstance, records: RecordsRoutes): void {
  app.post('/records/find', async (request, reply) => answer(records, request, reply, find))
  app.post('/explain', async (request, reply) => answer(records, request, reply, explain))
}

type Answering = (records: RecordsRoutes, told: ToldRequest, keys: FingerprintKeys) => Promise<object>

async function answer(records: RecordsRoutes, request: FastifyRequest, reply: FastifyReply, work: Answering): Promise<FastifyReply> {
  const given = readObject(request.body)
  if (isProblem(given)) return sendProblem(reply, given)
  const told = 'key' in given ? readToldKey(given, records.rules) : readToldRequest(given)
  if (isProblem(told)) return sendProblem(reply, told)
  const answered = await withKeys(records, (keys) => work(records, told, keys))
  return isProblem(answered) ? sendProblem(reply, answered) : sendJson(reply, answered)
}

async function explain(records: RecordsRoutes, { request }: ToldRequest, keys: FingerprintKeys): Promise<Explanation> {
  return records.explain(await withFields(request), keys)
}

/** The values of the request stay out of the answer: what was asked for is the record. */
async function find(records: RecordsRoutes, told: ToldRequest, keys: FingerprintKeys): Promise<object | Problem> {
  const explanation = await explain(records, told, keys)
  const { rule, outcome, reason, problem, fingerprint, aliases } = explanation
  if (told.rule !== undefined && rule !== told.rule)
    return invalid(rule === null ? 'no rule fits its method and path' : `the rule "${rule}" guards its method and path`)
  const names = fingerprint === null ? [] : [fingerprint, ...aliases]
  const found = await Promise.all(names.map((name) => records.store.read(name)))
  const documents = found.filter((record) => record !== undefined).map(adminDocument)
  return { rule, outcome, ...(reason !== undefined && { reason }), ...(problem && { problem }), fingerprint, aliases, records: documents }
}
