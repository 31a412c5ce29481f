// A request that an operator tells of: {"method", "url", "headers", "body"}; or only its key, its rule and who sent it.
import type { RuleConfig } from '../config/gateway-config.ts'
import type { RequestParts } from '../fingerprint/request-parts.ts'
import { toldRequest } from '../fingerprint/told-request.ts'
import type { Problem } from '../model/problems.ts'
import { readBody, readHeaders } from './given-result.ts'
import { invalid, strangers } from './record-filter.ts'

export interface ToldRequest {
  readonly request: RequestParts
  /** The rule that it has to be of; undefined: any. */
  readonly rule: string | undefined
}

type Given = Readonly<Record<string, unknown>>

const OF_REQUEST = ['method', 'url', 'headers', 'body', 'bodyBase64', 'ip'] as const
/** `headers`: an object of names and values (texts, or lists of them). `method`: POST where there is a body, else GET. */
export function readToldRequest(given: Given, rule?: string): ToldRequest | Problem {
  const strange = strangers(given, OF_REQUEST)
  if (strange !== undefined) return strange
  const { url, ip = '127.0.0.1', headers: lines = {} } = given
  const body = readBody(given)
  const headers = readHeaders(lines)
  if (body === undefined) return invalid('body is not a text, bodyBase64 is not base64, or both are there')
  if (headers === undefined) return invalid('headers is not an object of names and values (texts, or lists of them)')
  const { method = body.length > 0 ? 'POST' : 'GET' } = given
  if (typeof method !== 'string' || typeof url !== 'string' || typeof ip !== 'string') return invalid('method, url and ip are texts')
  const request = toldRequest({ method, url, headers, body, ip, receivedAt: Date.now() })
  return typeof request === 'string' ? invalid(request) : { request, rule }
}

/** `key` is the client's own, in the header that the rule reads it from. Method and path are the rule's own where it has but one. */
export function readToldKey(given: Given, rules: ReadonlyMap<string, { readonly config: RuleConfig }>): ToldRequest | Problem {
  const { key, rule, headers = {}, ...rest } = given
  const strange = strangers(rest, ['method', 'url', 'ip', 'body', 'bodyBase64'])
  if (strange !== undefined) return strange
  if (typeof key !== 'string' || key === '') return invalid('key is no text')
  const config = typeof rule === 'string' ? rules.get(rule)?.config : rules.size === 1 ? [...rules.values()][0]?.config : undefined
  if (config === undefined) return invalid(`rule is none of ${[...rules.keys()].join(', ')}`)
  const header = keyHeader(config)
  if (header === undefined) return invalid(`the rule "${config.name}" does not read its key from a header: tell of the request instead`)
  if (typeof headers !== 'object' || headers === null) return invalid('headers is no object')
  const { methods, paths } = config.match
  const [path] = paths
  const fixed = paths.length === 1 && path !== undefined && !/[:*(]/.test(path) ? path : undefined
  const { method = methods[0], url = fixed } = rest
  if (url === undefined) return invalid(`the rule "${config.name}" guards more than one path: tell which by "url"`)
  return readToldRequest({ ...rest, method, url, headers: { ...headers, [header]: key } }, config.name)
}

/** The header that the part named `key` reads first. */
function keyHeader({ fingerprint }: RuleConfig): string | undefined {
  const part = fingerprint['key']
  const from = part === undefined || typeof part === 'string' ? part : 'from' in part ? part.from : undefined
  const first = Array.isArray(from) ? from[0] : from
  const selector = typeof first === 'string' ? first : typeof first === 'object' && 'select' in first ? first.select : undefined
  return selector?.startsWith('header.') === true ? selector.slice('header.'.length) : undefined
}
