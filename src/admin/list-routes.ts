// /records: all records, page by page, by what they are; and the removal of those that are meant.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { removeByHand } from '../idempotency/remove-by-hand.ts'
import { type RecordFilter, searchRecords } from '../idempotency/search-records.ts'
import type { RecordStatus, RecordView } from '../model/record.ts'
import { FILTERS, invalid, isProblem, readFilter, readObject, strangers } from './record-filter.ts'
import { adminDocument, auditChange, type RecordsRoutes, sendJson, withKeys } from './records-context.ts'
import { sendProblem } from './send-problem.ts'

const PAGE = 50
const LARGEST_PAGE = 500
/** Records that one call of a purge removes at most; it tells where to go on. */
const PURGE_PAGE = 200
const AT_ONCE = 20
const REASON_CHARS = 500

/** What a purge removes where it is not told otherwise: an unknown outcome is the last word of something that may have happened. */
const SETTLED: readonly RecordStatus[] = ['completed', 'failed']

export function addListRoutes(app: FastifyInstance, records: RecordsRoutes): void {
  app.get('/records', async (request, reply) => list(records, request, reply))
  app.post('/records/purge', async (request, reply) => purge(records, request, reply))
}

async function list(records: RecordsRoutes, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const query = request.query as Readonly<Record<string, unknown>>
  const filter = strangers(query, [...FILTERS, 'limit', 'cursor']) ?? readFilter(query)
  if (isProblem(filter)) return sendProblem(reply, filter)
  const { limit = String(PAGE), cursor } = query
  if (typeof limit !== 'string' || !/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > LARGEST_PAGE)
    return sendProblem(reply, invalid(`limit is no number from 1 to ${LARGEST_PAGE}`))
  if (cursor !== undefined && !isCursor(cursor)) return sendProblem(reply, invalid('this is no cursor'))
  const found = await withKeys(records, () => searchRecords(records.store, { filter, cursor, limit: Number(limit) }))
  if ('name' in found) return sendProblem(reply, found)
  return sendJson(reply, { records: found.records.map(adminDocument), cursor: found.cursor ?? null, looked: found.looked })
}

interface Purge {
  readonly filter: RecordFilter
  readonly cursor: string | undefined
  readonly dryRun: boolean
  readonly reason: string | undefined
}

async function purge(records: RecordsRoutes, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const wanted = readPurge(request.body)
  if (isProblem(wanted)) return sendProblem(reply, wanted)
  const done = await withKeys(records, () => purgePage(records, request, wanted))
  return 'name' in done ? sendProblem(reply, done) : sendJson(reply, done)
}

function readPurge(body: unknown) {
  const given = readObject(body)
  if (isProblem(given)) return given
  const filter = strangers(given, [...FILTERS, 'dry_run', 'cursor', 'reason']) ?? readFilter(given)
  if (isProblem(filter)) return filter
  const { dry_run: dryRun = false, cursor, reason } = given
  if (filter.rule === undefined && filter.owner === undefined) return invalid('a purge names a rule or an owner')
  if (filter.statuses?.includes('processing') === true) return invalid('what runs is not removed')
  if (typeof dryRun !== 'boolean') return invalid('dry_run is neither true nor false')
  if (cursor !== undefined && cursor !== null && !isCursor(cursor)) return invalid('this is no cursor')
  if (reason !== undefined && (typeof reason !== 'string' || reason.length > REASON_CHARS)) return invalid('reason is no short text')
  return { filter: { ...filter, statuses: filter.statuses ?? SETTLED }, cursor: cursor ?? undefined, dryRun, reason } satisfies Purge
}

async function purgePage(records: RecordsRoutes, request: FastifyRequest, { filter, cursor, dryRun, reason }: Purge) {
  const found = await searchRecords(records.store, { filter, cursor, limit: PURGE_PAGE })
  let removed = 0
  const remove = async (record: RecordView): Promise<void> => {
    // One that has changed since it was found is not what was meant.
    const gone = await removeByHand(records.store, record)
    if ('name' in gone) return
    removed++
    const { fingerprint } = record
    records.history.byOperator(record, { from: record.status, to: 'removed', reason })
    auditChange(records, { audit: 'purge', request, fingerprint, reason }, { before: record, after: 'removed' })
  }
  if (!dryRun) {
    for (let at = 0; at < found.records.length; at += AT_ONCE) await Promise.all(found.records.slice(at, at + AT_ONCE).map(remove))
  }
  return { dry_run: dryRun, looked: found.looked, matched: found.records.length, removed, cursor: found.cursor ?? null }
}

function isCursor(text: unknown): text is string {
  return typeof text === 'string' && /^[A-Za-z0-9_:.-]{1,200}$/.test(text)
}
