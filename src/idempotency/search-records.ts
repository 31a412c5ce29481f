// Looks through the store's records for those that fit, a bounded while at a time.
import type { RecordStatus, RecordView } from '../model/record.ts'
import type { RecordsPage, Store } from '../stores/store.ts'

/** Absent: any. */
export interface RecordFilter {
  readonly rule?: string
  readonly statuses?: readonly RecordStatus[]
  /** The owner's tag, as records keep it. */
  readonly owner?: string
  /** Last changed at this time or later, and before that: milliseconds by the store's clock. */
  readonly since?: number
  readonly until?: number
}

export interface Search {
  readonly filter: RecordFilter
  readonly cursor: string | undefined
  /** A page has no more than these; where the store cannot stop in time, a few more. */
  readonly limit: number
}

export interface Found extends RecordsPage {
  /** How many records were looked at. */
  readonly looked: number
}

/** Records looked at in one call to the store: some milliseconds of its time. */
const STEP = 200
/** Whoever asks is answered after that, with what was found so far and where to go on. */
const SEARCH_MS = 1000

/** Rejects with StoreUnavailable. */
export async function searchRecords(store: Store, { filter, cursor: from, limit }: Search): Promise<Found> {
  const endsAt = performance.now() + SEARCH_MS
  const records: RecordView[] = []
  let cursor = from
  let looked = 0
  do {
    const wanted = limit - records.length
    const step = await oneStep(store, cursor, filter, wanted)
    records.push(...step.fitting)
    looked += step.looked
    cursor = step.cursor
  } while (cursor !== undefined && records.length < limit && performance.now() < endsAt)
  return { records, cursor, looked }
}

/** A step that finds more than is wanted is taken again, shorter: the page can then end where the next one begins. */
async function oneStep(store: Store, cursor: string | undefined, filter: RecordFilter, wanted: number) {
  const page = await store.list({ cursor, limit: STEP })
  const fitting = page.records.filter((record) => fits(record, filter))
  if (fitting.length <= wanted) return { fitting, looked: page.records.length, cursor: page.cursor }
  const shorter = await store.list({ cursor, limit: wanted })
  return {
    fitting: shorter.records.filter((record) => fits(record, filter)),
    looked: shorter.records.length,
    cursor: shorter.cursor,
  }
}

export function fits(record: RecordView, { rule, statuses, owner, since, until }: RecordFilter): boolean {
  return (
    (rule === undefined || record.rule === rule) &&
    (statuses === undefined || statuses.includes(record.status)) &&
    (owner === undefined || record.owner === owner) &&
    (since === undefined || record.updatedAt >= since) &&
    (until === undefined || record.updatedAt < until)
  )
}
