// `oncegate records`: what the records are, and an operator's word on them, said to the admin port.
import { askAdmin, type AdminAnswer, type AdminOptions, type RecordsConsole } from './admin-port.ts'
import { readBody } from './explain-request.ts'
import { readHeader } from './http-message.ts'
import { listRecords, purgeRecords, type FilterOptions } from './record-listing.ts'
import { showFound, showProblem, showRecord } from './show-records.ts'
import { UsageError } from './usage-error.ts'

export const RECORD_ACTIONS = ['list', 'show', 'find', 'release', 'complete', 'fail', 'purge'] as const

export type RecordAction = (typeof RECORD_ACTIONS)[number]

export interface RecordsOptions extends AdminOptions, FilterOptions {
  readonly json?: boolean
  /** Of the result that is given; of `list` and `purge`: which records are meant. */
  readonly status?: string
  /** `Name: value`, one line each. */
  readonly header?: readonly string[]
  /** Text, or `@file`. */
  readonly data?: string
  readonly reason?: string
  /** Of `find`: the client's own key, or the request. */
  readonly key?: string
  readonly request?: string
  readonly url?: string
}

/** One fingerprint in 64 begins with `-`: behind `--`, and after all flags, it is not taken for one. */
export function withFingerprintLast(argv: readonly string[]): string[] {
  const [node = '', program = '', command = '', action = '', fingerprint = '', ...rest] = argv
  if (command !== 'records' || !/^-[A-Za-z0-9_-]{19,63}$/.test(fingerprint)) return [...argv]
  return [node, program, command, action, ...rest, '--', fingerprint]
}

/** Resolves with the exit code: 0 well, 1 refused or out of reach, 2 bad usage. */
export async function records(
  action: string,
  fingerprint: string | undefined,
  options: RecordsOptions,
  console: RecordsConsole,
): Promise<0 | 1 | 2> {
  const { out, err } = console
  try {
    const known = RECORD_ACTIONS.find((one) => one === action)
    if (known === undefined) throw new UsageError(`unknown action "${action}": expected ${RECORD_ACTIONS.join(', ')}`)
    const { ok, document, shown } = await done(known, fingerprint, options, console)
    ;(ok ? out : err).write(options.json === true ? `${JSON.stringify(document)}\n` : ok ? shown : showProblem(document))
    return ok ? 0 : 1
  } catch (error) {
    err.write(`${error instanceof Error ? error.message : String(error)}\n`)
    return error instanceof UsageError ? 2 : 1
  }
}

type Done = AdminAnswer & { readonly shown: string }

async function done(
  action: RecordAction,
  fingerprint: string | undefined,
  options: RecordsOptions,
  console: RecordsConsole,
): Promise<Done> {
  if (action === 'list' || (action === 'purge' && fingerprint === undefined)) {
    if (fingerprint !== undefined) throw new UsageError('list takes no fingerprint: show tells of one')
    return action === 'list' ? listRecords(options, console) : purgeRecords(options, console)
  }
  if (action === 'find') {
    if (fingerprint !== undefined) throw new UsageError('find takes no fingerprint: show tells of one')
    const answer = await askAdmin(options, console.env, { method: 'POST', path: '/records/find', body: soughtOf(options) })
    return { ...answer, shown: showFound(answer.document) }
  }
  if (fingerprint === undefined || !/^[A-Za-z0-9_-]+$/.test(fingerprint))
    throw new UsageError(`${action} takes a fingerprint: it has letters, digits, _ and - only`)
  const answer = await askAdmin(options, console.env, requestOf(action, fingerprint, options))
  return { ...answer, shown: showRecord(answer.document) }
}

function requestOf(action: Exclude<RecordAction, 'list' | 'find'>, fingerprint: string, options: RecordsOptions) {
  const path = `/records/${fingerprint}`
  const body = resultOf(action, options)
  const why = options.reason === undefined ? '' : `?reason=${encodeURIComponent(options.reason)}`
  if (action === 'show') return { method: 'GET', path }
  return action === 'purge' ? { method: 'DELETE', path: path + why } : { method: 'POST', path: `${path}/${action}${why}`, body }
}

/** The result that is given, as the admin port reads it. */
function resultOf(action: RecordAction, { status, header = [], data }: RecordsOptions): object | undefined {
  const given = status !== undefined || data !== undefined || header.length > 0
  if (!given && action !== 'complete') return undefined
  if (action !== 'complete' && action !== 'fail') throw new UsageError(`${action} takes no result`)
  if (status === undefined || !/^[2-5]\d\d$/.test(status)) throw new UsageError(`${action} takes the status of the result: --status 200`)
  return { status: Number(status), headers: headersOf(header), ...bodyOf(data) }
}

function soughtOf({ key, rule, request: method, url, header = [], data }: RecordsOptions): object {
  if (key === undefined && url === undefined) throw new UsageError('find takes --key KEY and the rule, or --url URL of a request')
  const told = { ...(method !== undefined && { method }), ...(url !== undefined && { url }), headers: headersOf(header), ...bodyOf(data) }
  if (key === undefined) return told
  return { ...told, key, ...(rule !== undefined && { rule }) }
}

function headersOf(lines: readonly string[]): Record<string, string[]> {
  const headers: Record<string, string[]> = {}
  for (const [name, value] of lines.map((line) => readHeader(line))) headers[name] = [...(headers[name] ?? []), value]
  return headers
}

function bodyOf(data: string | undefined): object {
  return data === undefined ? {} : { bodyBase64: readBody(data).toString('base64') }
}
