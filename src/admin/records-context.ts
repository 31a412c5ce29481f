// What the routes of /records share: what they work with, how they answer, and the line that each change leaves.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { RuleConfig } from '../config/gateway-config.ts'
import type { Explanation } from '../fingerprint/explain.ts'
import { type FingerprintKeys, isIssued } from '../fingerprint/keys.ts'
import type { RequestParts } from '../fingerprint/request-parts.ts'
import type { History } from '../idempotency/history.ts'
import { storeUnavailable } from '../idempotency/refuse.ts'
import { unknownRecord } from '../idempotency/settle-by-hand.ts'
import type { Metrics } from '../model/metrics.ts'
import { problem, type Problem } from '../model/problems.ts'
import { recordDocument, rfc3339 } from '../model/record-document.ts'
import type { RecordView } from '../model/record.ts'
import { type Store, StoreUnavailable } from '../stores/store.ts'

export interface RecordsRoutes {
  readonly store: Store
  readonly rules: ReadonlyMap<string, { readonly config: RuleConfig }>
  /** Undefined until the store has given the deployment's secret. */
  readonly keys: () => FingerprintKeys | undefined
  readonly log: AuditLog
  readonly metrics: Pick<Metrics, 'learned'>
  readonly history: History
  /** How a request that somebody tells of would be identified. */
  readonly explain: (request: RequestParts, keys: FingerprintKeys) => Promise<Explanation>
  /** What whoever comes here has shown, for the log. */
  readonly credential: 'adminToken' | 'none'
}

export interface AuditLog {
  info(details: object, message: string): void
  warn(details: object, message: string): void
}

/** With the keys, where the store has given them; a store that is out of reach is told as such. */
export async function withKeys<T>(records: RecordsRoutes, work: (keys: FingerprintKeys) => Promise<T>): Promise<T | Problem> {
  const keys = records.keys()
  if (keys === undefined) return storeUnavailable()
  try {
    return await work(keys)
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    return storeUnavailable()
  }
}

/** What this deployment never issued costs no look into the store. */
export function withRecord<T>(records: RecordsRoutes, fingerprint: string, work: () => Promise<T>): Promise<T | Problem> {
  return withKeys<T | Problem>(records, async (keys) => (isIssued(fingerprint, keys) ? work() : unknownRecord()))
}

/** The record with what only operators are told: whose it is, by a keyed hash, and since when it runs. */
export function adminDocument(record: RecordView) {
  return {
    ...recordDocument(record),
    owner: record.owner === '' ? undefined : record.owner,
    started_at: rfc3339(record.startedAt),
    lease_left_ms: record.status === 'processing' ? record.leaseLeft : undefined,
  }
}

export function sendJson(reply: FastifyReply, document: object): FastifyReply {
  return reply
    .header('Cache-Control', 'no-store')
    .type('application/json')
    .send(`${JSON.stringify(document)}\n`)
}

const REASON_CHARS = 500

/** `?reason=`: why the operator does it, for the log and the timeline. */
export function readReason({ query }: FastifyRequest): string | undefined | Problem {
  const { reason } = query as Readonly<Record<string, unknown>>
  if (reason === undefined || reason === '') return undefined
  if (typeof reason === 'string' && reason.length <= REASON_CHARS) return reason
  return problem('request-invalid', `The reason is one text of at most ${REASON_CHARS} characters.`)
}

export interface Act {
  readonly audit: string
  readonly request: FastifyRequest
  readonly fingerprint: string
  readonly reason: string | undefined
}

/** Who did what to which record, and what it came to; never what is in it. */
export function auditChange(
  { log, credential }: RecordsRoutes,
  { request, ...act }: Act,
  { before, after }: { before: RecordView; after: string },
): void {
  const { rule, attempt, executionId: execution, status } = before
  const message = after === 'removed' ? 'an operator removed a record' : 'an operator settled a record'
  log.info({ ...act, address: request.ip, credential, rule, attempt, execution, before: status, after }, message)
}

export function auditRefusal({ log, credential }: RecordsRoutes, { request, ...act }: Act, refused: Problem): void {
  const message = act.audit === 'purge' ? 'an operator did not remove a record' : 'an operator did not settle a record'
  log.warn({ ...act, address: request.ip, credential, refused: refused.name, before: refused.members?.['record_status'] }, message)
}
