// The request that `explain` was told of, by flags like curl's.
import { readFileSync } from 'node:fs'
import type { RequestParts } from '../fingerprint/request-parts.ts'
import { parseTarget } from '../http/target.ts'
import { headerValue, passedOn } from '../model/headers.ts'

export interface RequestFlags {
  readonly request?: string
  readonly header: readonly string[]
  readonly data?: string
  readonly ip: string
}

/** What the flags say is no request. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export function requestFromFlags(url: string, flags: RequestFlags): RequestParts {
  const body = flags.data === undefined ? Buffer.alloc(0) : readBody(flags.data)
  const { host, target } = splitUrl(url)
  const lines = flags.header.flatMap(headerLine)
  const typed = body.length === 0 || headerValue(lines, 'content-type') !== undefined
  return {
    method: methodOf(flags),
    path: target.path,
    query: target.query,
    headers: passedOn(typed ? lines : [...lines, 'Content-Type', guessType(body)]),
    host: headerValue(lines, 'host') ?? host,
    ip: flags.ip,
    body,
    receivedAt: Date.now(),
  }
}

function methodOf({ request, data }: RequestFlags): string {
  const method = request ?? (data === undefined ? 'GET' : 'POST')
  if (!/^[A-Za-z]+$/.test(method)) throw new UsageError(`"${method}" is no method`)
  return method.toUpperCase()
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

function headerLine(line: string): [name: string, value: string] {
  const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? []
  if (name === undefined || value === undefined) throw new UsageError(`"${line}" is no header: write 'Name: value'`)
  return [name, value]
}

/** A file counts byte for byte. */
function readBody(data: string): Buffer {
  if (!data.startsWith('@')) return Buffer.from(data)
  try {
    return readFileSync(data.slice(1))
  } catch (error) {
    throw new UsageError(`the body cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** curl would always say form. */
function guessType(body: Buffer): string {
  return /^\s*[{[]/.test(body.toString('latin1', 0, 100)) ? 'application/json' : 'application/x-www-form-urlencoded'
}
