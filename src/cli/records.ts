// `oncegate records show|release|complete|fail FINGERPRINT`: an operator's word on a record, said to the admin port.
import { readBody } from './explain-request.ts'
import { readHeader } from './http-message.ts'
import { UsageError } from './usage-error.ts'

export const RECORD_ACTIONS = ['show', 'release', 'complete', 'fail'] as const

export type RecordAction = (typeof RECORD_ACTIONS)[number]

export interface RecordsOptions {
  readonly admin: string
  readonly token?: string
  readonly json?: boolean
  /** Of the result that is given. */
  readonly status?: string
  /** `Name: value`, one line each. */
  readonly header?: readonly string[]
  /** Text, or `@file`. */
  readonly data?: string
}

export interface RecordsConsole {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly out: { write(text: string): unknown }
  readonly err: { write(text: string): unknown }
}

const ANSWER_WITHIN_MS = 30_000

/** One fingerprint in 64 begins with `-`: behind `--`, and after all flags, it is not taken for one. */
export function withFingerprintLast(argv: readonly string[]): string[] {
  const [node = '', program = '', command = '', action = '', fingerprint = '', ...rest] = argv
  if (command !== 'records' || !/^-[A-Za-z0-9_-]{19,63}$/.test(fingerprint)) return [...argv]
  return [node, program, command, action, ...rest, '--', fingerprint]
}

/** Resolves with the exit code: 0 well, 1 refused or out of reach, 2 bad usage. */
export async function records(
  action: string,
  fingerprint: string,
  options: RecordsOptions,
  { env, out, err }: RecordsConsole,
): Promise<0 | 1 | 2> {
  try {
    const request = requestOf(action, fingerprint, options)
    const token = options.token ?? env['ONCEGATE_ADMIN_TOKEN'] ?? ''
    const answer = await fetch(request.url, {
      method: request.method,
      headers: {
        ...(token !== '' && { authorization: `Bearer ${token}` }),
        ...(request.body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(request.body !== undefined && { body: request.body }),
      redirect: 'error',
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    })
    const text = await answer.text()
    ;(answer.ok ? out : err).write(options.json === true ? `${text.trim()}\n` : shown(text, answer.ok))
    return answer.ok ? 0 : 1
  } catch (error) {
    err.write(`${reasonOf(error, options.admin)}\n`)
    return error instanceof UsageError ? 2 : 1
  }
}

function requestOf(
  action: string,
  fingerprint: string,
  options: RecordsOptions,
): { method: string; url: string; body: string | undefined } {
  const known = RECORD_ACTIONS.find((one) => one === action)
  if (known === undefined) throw new UsageError(`unknown action "${action}": expected ${RECORD_ACTIONS.join(', ')}`)
  if (!/^[A-Za-z0-9_-]+$/.test(fingerprint)) throw new UsageError('this is no fingerprint: it has letters, digits, _ and - only')
  if (!/^https?:\/\//.test(options.admin) || !URL.canParse(options.admin))
    throw new UsageError('--admin takes a URL like http://127.0.0.1:9080')
  const url = `${options.admin.replace(/\/+$/, '')}/records/${fingerprint}`
  const body = resultOf(known, options)
  return known === 'show' ? { method: 'GET', url, body } : { method: 'POST', url: `${url}/${known}`, body }
}

/** The result that is given, as the admin port reads it. */
function resultOf(action: RecordAction, { status, header = [], data }: RecordsOptions): string | undefined {
  const given = status !== undefined || data !== undefined || header.length > 0
  if (!given && action !== 'complete') return undefined
  if (action !== 'complete' && action !== 'fail') throw new UsageError(`${action} takes no result`)
  if (status === undefined || !/^[2-5]\d\d$/.test(status)) throw new UsageError(`${action} takes the status of the result: --status 200`)
  const headers: Record<string, string[]> = {}
  for (const [name, value] of header.map((line) => readHeader(line))) headers[name] = [...(headers[name] ?? []), value]
  return JSON.stringify({ status: Number(status), headers, ...(data !== undefined && { bodyBase64: readBody(data).toString('base64') }) })
}

/** The record line by line; of a problem what people need of it. */
function shown(text: string, well: boolean): string {
  let document: Readonly<Record<string, unknown>>
  try {
    document = JSON.parse(text) as Readonly<Record<string, unknown>>
  } catch {
    return 'the answer is not the admin port of a gateway\n'
  }
  if (!well) return `${String(document['title'])}: ${String(document['detail'])}\n`
  const width = Math.max(...Object.keys(document).map((name) => name.length))
  return Object.entries(document)
    .map(([name, value]) => `${name.padEnd(width)}  ${String(value)}\n`)
    .join('')
}

function reasonOf(error: unknown, admin: string): string {
  if (error instanceof UsageError) return error.message
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  return `${admin} did not answer: ${cause instanceof Error ? cause.message : String(cause)}`
}
