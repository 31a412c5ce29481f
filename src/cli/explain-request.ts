// The request that `explain` was told of, by flags like curl's or as a saved HTTP message.
import { readFileSync } from 'node:fs'
import type { RequestParts } from '../fingerprint/request-parts.ts'
import { parseTarget } from '../http/target.ts'
import { headerValue, passedOn } from '../model/headers.ts'
import { readHeader, readHttpMessage } from './http-message.ts'
import { UsageError } from './usage-error.ts'

export interface RequestFlags {
  readonly request?: string
  readonly header: readonly string[]
  readonly data?: string
  readonly ip: string
}

/** What is known of a request, whatever it was told by. */
export interface Told {
  readonly method: string
  /** URL, absolute path, or a path alone. */
  readonly url: string
  readonly headers: readonly string[]
  readonly body: Buffer
  readonly ip: string
  readonly receivedAt: number
}

export function requestFromFlags(url: string, flags: RequestFlags): RequestParts {
  const body = flags.data === undefined ? Buffer.alloc(0) : readBody(flags.data)
  const headers = flags.header.flatMap((line) => readHeader(line))
  const method = flags.request ?? (flags.data === undefined ? 'GET' : 'POST')
  return requestFrom({ method, url, headers, body, ip: flags.ip, receivedAt: Date.now() })
}

/** From a file that holds one request as it stands on the wire. */
export function requestFromMessage(file: string, ip: string): RequestParts {
  const { method, target, headers, body } = readHttpMessage(readInput(file, 'the request'))
  if (method !== method.toUpperCase()) throw new UsageError(`"${method}" is no method: methods are written in capitals`)
  return requestFrom({ method, url: target, headers, body, ip, receivedAt: Date.now() })
}

/** Throws a UsageError for what is no request. */
export function requestFrom({ method, url, headers, body, ip, receivedAt }: Told): RequestParts {
  if (!/^[A-Za-z]+$/.test(method)) throw new UsageError(`"${method}" is no method`)
  const { host, target } = splitUrl(url)
  const typed = body.length === 0 || headerValue(headers, 'content-type') !== undefined
  return {
    method: method.toUpperCase(),
    path: target.path,
    query: target.query,
    headers: passedOn(typed ? headers : [...headers, 'Content-Type', guessType(body)]),
    host: headerValue(headers, 'host') ?? host,
    ip,
    body,
    receivedAt,
  }
}

/** Bytes of a file that a flag names; `what` it is for the error. */
export function readInput(file: string, what: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new UsageError(`${what} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** The path stays as it is spelled: that is what the rules are asked about. */
function splitUrl(url: string): { host: string; target: ReturnType<typeof parseTarget> } {
  const [, host] = /^https?:\/\/(?:[^/?#@]*@)?([^/?#]+)/i.exec(url) ?? []
  if (host === undefined && !url.startsWith('/')) {
    throw new UsageError(`"${url}" is neither a URL nor a path: write http://host/path, or /path`)
  }
  if (/[^\x21-\x7e]/.test(url)) throw new UsageError('the URL holds spaces or characters that must be percent-encoded')
  return { host: host ?? 'localhost', target: parseTarget(url) }
}

/** `@file`, byte for byte, or the text itself. */
export function readBody(data: string): Buffer {
  return data.startsWith('@') ? readInput(data.slice(1), 'the body') : Buffer.from(data)
}

/** curl would always say form. */
function guessType(body: Buffer): string {
  return /^\s*[{[]/.test(body.toString('latin1', 0, 100)) ? 'application/json' : 'application/x-www-form-urlencoded'
}
