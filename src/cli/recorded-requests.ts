// Recorded requests from a file in JSON Lines: one request a line, with the members below.
import { didYouMean } from '../config/did-you-mean.ts'
import { parseJson } from '../fingerprint/json.ts'
import type { RequestParts } from '../fingerprint/request-parts.ts'
import { readInput, requestFrom } from './explain-request.ts'
import { UsageError } from './usage-error.ts'

export interface RecordedRequest {
  /** Of the file, from 1. */
  readonly line: number
  readonly request: RequestParts
}

const MEMBERS = ['method', 'url', 'headers', 'body', 'bodyBase64', 'ip', 'time', 'claims'] as const

/** Throws a UsageError that names the line. */
export function readRecordedRequests(file: string): RecordedRequest[] {
  const now = Date.now()
  const lines = readInput(file, 'the file of requests').toString().split(/\r?\n/)
  const recorded = lines.flatMap((text, n): RecordedRequest[] => {
    if (text.trim() === '') return []
    try {
      return [{ line: n + 1, request: readLine(text, now) }]
    } catch (error) {
      if (error instanceof UsageError || error instanceof SyntaxError) throw new UsageError(`${file}:${n + 1}: ${error.message}`)
      throw error
    }
  })
  if (recorded.length === 0) throw new UsageError(`${file} holds no request`)
  return recorded
}

function readLine(text: string, now: number): RequestParts {
  const read: unknown = JSON.parse(text)
  if (typeof read !== 'object' || read === null || Array.isArray(read)) throw new UsageError('a request is an object with method and url')
  const line = new Map<string, unknown>(Object.entries(read))
  for (const name of line.keys()) {
    if (MEMBERS.some((member) => member === name)) continue
    throw new UsageError(`unknown member "${name}"; ${didYouMean(name, MEMBERS) ?? `there are ${MEMBERS.join(', ')}`}`)
  }
  const request = requestFrom({
    method: textOf(line, 'method') ?? 'POST',
    url: textOf(line, 'url') ?? missing('url'),
    headers: headersOf(line.get('headers') ?? {}),
    body: bodyOf(line),
    ip: textOf(line, 'ip') ?? '127.0.0.1',
    receivedAt: timeOf(textOf(line, 'time'), now),
  })
  const claims = line.get('claims')
  return claims === undefined ? request : { ...request, claims: parseJson(JSON.stringify(claims)) }
}

function missing(name: string): never {
  throw new UsageError(`"${name}" is missing`)
}

function textOf(line: ReadonlyMap<string, unknown>, name: (typeof MEMBERS)[number]): string | undefined {
  const value = line.get(name)
  if (value === undefined || typeof value === 'string') return value
  throw new UsageError(`"${name}" is no text`)
}

function headersOf(headers: unknown): string[] {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) throw new UsageError('"headers" is no object')
  return Object.entries(headers).flatMap(([name, value]: [string, unknown]) =>
    (Array.isArray(value) ? value : [value]).flatMap((each: unknown) => {
      if (typeof each !== 'string') throw new UsageError(`the header "${name}" is neither a text nor a list of texts`)
      return [name, each]
    }),
  )
}

function bodyOf(line: ReadonlyMap<string, unknown>): Buffer {
  const [text, base64] = [textOf(line, 'body'), textOf(line, 'bodyBase64')]
  if (text !== undefined && base64 !== undefined) throw new UsageError('"body" and "bodyBase64" exclude each other')
  if (base64 !== undefined && !/^[A-Za-z0-9+/]*={0,2}$/.test(base64)) throw new UsageError('"bodyBase64" is no base64')
  return base64 === undefined ? Buffer.from(text ?? '') : Buffer.from(base64, 'base64')
}

function timeOf(time: string | undefined, now: number): number {
  if (time === undefined) return now
  const read = /T.*(?:Z|[+-]\d\d:\d\d)$/i.test(time) ? Date.parse(time) : Number.NaN
  if (Number.isNaN(read)) throw new UsageError('"time" is no time like 2026-01-31T09:00:00Z')
  return read
}
