// `oncegate records list` and `purge` without a fingerprint: page after page, until enough or all was seen.
import { DURATION_PATTERN, parseDuration } from '../config/units.ts'
import { askAdmin, type AdminAnswer, type AdminOptions, type RecordsConsole } from './admin-port.ts'
import { showTable } from './show-records.ts'
import { UsageError } from './usage-error.ts'

export interface FilterOptions {
  readonly rule?: string
  readonly status?: string
  readonly owner?: string
  readonly since?: string
  readonly until?: string
  readonly limit?: string
  readonly cursor?: string
  readonly dryRun?: boolean
  readonly reason?: string
}

type Done = AdminAnswer & { readonly shown: string }
type Options = AdminOptions & FilterOptions

const LARGEST_PAGE = 500

export async function listRecords(options: Options, console: RecordsConsole): Promise<Done> {
  const limit = Number(options.limit ?? '50')
  if (!Number.isInteger(limit) || limit < 1) throw new UsageError('--limit takes a number')
  const progress = new Progress(console)
  const records: object[] = []
  let cursor: string | null = options.cursor ?? null
  do {
    const query = new URLSearchParams(filterOf(options))
    query.set('limit', String(Math.min(limit - records.length, LARGEST_PAGE)))
    if (cursor !== null) query.set('cursor', cursor)
    const answer = await askAdmin(options, console.env, { method: 'GET', path: `/records?${query.toString()}` })
    if (!answer.ok) return failed(answer, progress)
    const page = answer.document as { records: object[]; cursor: string | null; looked: number }
    records.push(...page.records)
    cursor = page.cursor
    progress.add(page.looked, `${records.length} found`)
  } while (cursor !== null && records.length < limit)
  progress.end()
  const more = cursor === null ? '' : `There are more: --cursor ${cursor}\n`
  return { ok: true, document: { records, cursor }, shown: showTable(records) + more }
}

export async function purgeRecords(options: Options, console: RecordsConsole): Promise<Done> {
  const { rule, owner, dryRun = false, reason } = options
  if (rule === undefined && owner === undefined) throw new UsageError('purge takes a fingerprint, or --rule NAME or --owner TAG')
  const progress = new Progress(console)
  let [matched, removed] = [0, 0]
  let cursor: string | null = options.cursor ?? null
  do {
    const body = { ...filterOf(options), dry_run: dryRun, ...(reason !== undefined && { reason }), ...(cursor !== null && { cursor }) }
    const answer = await askAdmin(options, console.env, { method: 'POST', path: '/records/purge', body })
    if (!answer.ok) return failed(answer, progress)
    const page = answer.document as { matched: number; removed: number; cursor: string | null; looked: number }
    matched += page.matched
    removed += page.removed
    cursor = page.cursor
    progress.add(page.looked, dryRun ? `${matched} would be removed` : `${removed} removed`)
  } while (cursor !== null)
  progress.end()
  const kept = matched - removed
  const left = kept > 0 ? `; ${kept} had changed meanwhile, and stay` : ''
  const shown = dryRun ? `${matched} would be removed. Nothing was.\n` : `${removed} removed${left}.\n`
  return { ok: true, document: { dry_run: dryRun, matched, removed }, shown }
}

function failed(answer: AdminAnswer, progress: Progress): Done {
  progress.end()
  return { ...answer, shown: '' }
}

function filterOf({ rule, status, owner, since, until }: FilterOptions): Record<string, string> {
  return {
    ...(rule !== undefined && { rule }),
    ...(status !== undefined && { status }),
    ...(owner !== undefined && { owner }),
    ...(since !== undefined && { since: timeOf(since, '--since') }),
    ...(until !== undefined && { until: timeOf(until, '--until') }),
  }
}

/** RFC 3339, or a duration: so long ago. */
function timeOf(text: string, flag: string): string {
  if (DURATION_PATTERN.test(text)) return new Date(Date.now() - parseDuration(text)).toISOString()
  if (!/^\d{4}-\d\d-\d\d/.test(text) || Number.isNaN(Date.parse(text)))
    throw new UsageError(`${flag} takes a time, 2026-01-31T09:00:00Z, or how long ago it was: 2h`)
  return new Date(text).toISOString()
}

/** One line for whoever watches, written over and over; nothing where nobody does. */
class Progress {
  readonly #err: RecordsConsole['err']
  #looked = 0
  #written = false

  constructor({ err }: RecordsConsole) {
    this.#err = err
  }

  add(looked: number, found: string): void {
    this.#looked += looked
    if (this.#err.isTTY !== true) return
    this.#err.write(`\r\u001b[K${this.#looked} records looked at, ${found}`)
    this.#written = true
  }

  end(): void {
    if (this.#written) this.#err.write('\r\u001b[K')
    this.#written = false
  }
}
