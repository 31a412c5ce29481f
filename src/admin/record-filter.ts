// Which records are meant: the filters of a query, or of a JSON body, in the same words.
import { type RecordFilter } from '../idempotency/search-records.ts'
import { problem, type Problem } from '../model/problems.ts'
import { type RecordStatus } from '../model/record.ts'

const STATUSES: readonly RecordStatus[] = ['processing', 'completed', 'failed', 'unknown']

type Given = Readonly<Record<string, unknown>>

/** `status` is one, a list, or several with commas between; times are RFC 3339. */
export function readFilter({ rule, status, owner, since, until }: Given): RecordFilter | Problem {
  const filter: { -readonly [K in keyof RecordFilter]: RecordFilter[K] } = {}
  for (const [name, value] of Object.entries({ rule, owner })) {
    if (value === undefined) continue
    if (typeof value !== 'string') return invalid(`${name} is not one text`)
    filter[name as 'rule' | 'owner'] = value
  }
  if (status !== undefined) {
    const named = [status].flat().flatMap((one: unknown) => (typeof one === 'string' ? one.split(',') : ['']))
    const known = named.map((name) => STATUSES.find((one) => one === name))
    if (!known.every((one) => one !== undefined)) return invalid(`status is none of ${STATUSES.join(', ')}`)
    filter.statuses = known
  }
  for (const [name, value] of Object.entries({ since, until })) {
    if (value === undefined) continue
    const at = typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value) ? Date.parse(value) : Number.NaN
    if (Number.isNaN(at)) return invalid(`${name} is no time like 2026-01-31T09:00:00Z`)
    filter[name as 'since' | 'until'] = at
  }
  return filter
}

/** The names that stand in `given` and mean nothing. */
export function strangers(given: Given, known: readonly string[]): Problem | undefined {
  const strange = Object.keys(given).find((name) => !known.includes(name))
  return strange === undefined ? undefined : invalid(`unknown name "${strange}": expected ${known.join(', ')}`)
}

export const FILTERS = ['rule', 'status', 'owner', 'since', 'until'] as const

export function invalid(why: string): Problem {
  return problem('request-invalid', `The request cannot be read: ${why}.`)
}

/** A JSON object, or what is wrong with it. */
export function readObject(body: unknown): Given | Problem {
  let read: unknown
  try {
    read = Buffer.isBuffer(body) ? JSON.parse(body.toString()) : undefined
  } catch {
    return problem('body-invalid', 'The body is not JSON.')
  }
  if (typeof read !== 'object' || read === null || Array.isArray(read)) return problem('body-invalid', 'The body is not a JSON object.')
  return read as Given
}

export function isProblem(made: object): made is Problem {
  return 'name' in made && 'detail' in made
}
