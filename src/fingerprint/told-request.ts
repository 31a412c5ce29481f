// A request that somebody tells of instead of sending it, as the rules would see it.
import { headerValue, passedOn } from '../model/headers.ts'
import { parseTarget } from '../model/target.ts'
import type { RequestParts } from './request-parts.ts'

export interface Told {
  readonly method: string
  /** URL, or an absolute path. */
  readonly url: string
  /** Name and value in turn. */
  readonly headers: readonly string[]
  readonly body: Buffer
  readonly ip: string
  readonly receivedAt: number
}

/** The request; or, as a sentence without an end, why it is none. The path stays as it is spelled. */
export function toldRequest({ method, url, headers, body, ip, receivedAt }: Told): RequestParts | string {
  if (!/^[A-Za-z]+$/.test(method)) return `"${method}" is no method`
  const [, host] = /^https?:\/\/(?:[^/?#@]*@)?([^/?#]+)/i.exec(url) ?? []
  if (host === undefined && !url.startsWith('/')) {
    return `"${url}" is neither a URL nor a path: write http://host/path, or /path`
  }
  if (/[^\x21-\x7e]/.test(url)) return 'the URL holds spaces or characters that must be percent-encoded'
  const { path, query } = parseTarget(url)
  const typed = body.length === 0 || headerValue(headers, 'content-type') !== undefined
  return {
    method: method.toUpperCase(),
    path,
    query,
    headers: passedOn(typed ? headers : [...headers, 'Content-Type', guessType(body)]),
    host: headerValue(headers, 'host') ?? host ?? 'localhost',
    ip,
    body,
    receivedAt,
  }
}

/** curl would always say form. */
function guessType(body: Buffer): string {
  return /^\s*[{[]/.test(body.toString('latin1', 0, 100)) ? 'application/json' : 'application/x-www-form-urlencoded'
}
