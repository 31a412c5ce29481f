// /overview: all that the console's first page shows, in one answer: what runs, what is unknown, and how the rules fare.
import type { FastifyInstance } from 'fastify'
import type { RuleConfig } from '../config/gateway-config.ts'
import type { Census } from '../idempotency/census.ts'
import type { Durations } from '../idempotency/durations.ts'
import type { LiveExecutions } from '../idempotency/live-executions.ts'
import type { RetryStorms } from '../idempotency/retry-storms.ts'
import type { RecordView } from '../model/record.ts'
import { rfc3339 } from '../model/record-document.ts'
import { adminDocument, sendJson } from './records-context.ts'

export interface Overview {
  /** Those that are applied now, in the order of the file. */
  readonly rules: () => readonly RuleConfig[]
  /** Requests to the traffic port since the start, by what they came to; of a rule. */
  readonly requests: (rule: string) => Readonly<Record<string, number>>
  readonly live: LiveExecutions
  readonly durations: Durations
  readonly census: Census
  readonly storms: RetryStorms
}

/** Rows of each table: a page that shows more helps nobody. */
const MOST = 100

export function addOverviewRoute(app: FastifyInstance, overview: Overview): void {
  const startedAt = Date.now()
  app.get('/overview', async (_request, reply) => {
    const { census, storms } = overview
    return sendJson(reply, {
      now: rfc3339(Date.now()),
      started_at: rfc3339(startedAt),
      rules: overview.rules().map((rule) => ruleDocument(overview, rule)),
      in_flight: inFlight(overview),
      unknown: { count: census.count, records: census.unknown.slice(0, MOST).map(adminDocument) },
      storms: storms.recent.map(({ at, ...storm }) => ({ ...storm, at: rfc3339(at) })),
      last_pass: census.lastPass && { at: rfc3339(census.lastPass.at), records: census.lastPass.records },
    })
  })
}

function ruleDocument({ requests, durations }: Overview, { name, mode, timeout }: RuleConfig) {
  return { name, mode, timeout_ms: timeout, usual_ms: rounded(durations.usual(name)), requests: requests(name) }
}

/** The oldest first: those here, and those that the store was last seen to have elsewhere. */
function inFlight(overview: Overview) {
  const now = performance.now()
  const here = overview.live.running(MOST).map(({ fingerprint, executionId, rule, attempt, since }) => ({
    fingerprint,
    rule,
    attempt,
    execution: executionId,
    here: true,
    age_ms: Math.round(now - since),
  }))
  const known = new Set(here.map(({ execution }) => execution))
  const elsewhere = overview.census.running.filter(({ executionId }) => !known.has(executionId)).map(elsewhereDocument)
  return [...here, ...elsewhere].toSorted((a, b) => b.age_ms - a.age_ms).slice(0, MOST)
}

/** As old as it was when it was read. */
function elsewhereDocument({ fingerprint, executionId, rule, attempt, startedAt, readAt }: RecordView) {
  return { fingerprint, rule, attempt, execution: executionId, here: false, age_ms: readAt - startedAt }
}

function rounded(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms)
}
