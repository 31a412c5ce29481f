// A result that an operator gives: {"status": 200, "headers": {"Name": "value"}, "body": "text"}, or "bodyBase64" for other bytes.
import { problem, type Problem } from '../model/problems.ts'
import type { HeaderList } from '../model/stored-response.ts'

export interface GivenResult {
  readonly status: number
  readonly headers: HeaderList
  readonly body: Buffer
}

const KEYS = ['status', 'headers', 'body', 'bodyBase64']
/** RFC 9110 5.6.2 and 5.5. */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const VALUE = /^[\t\u0020-\u007e\u0080-\u00ff]*$/
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** The result, or what is wrong with it; values are never quoted. */
export function readGivenResult(bytes: Buffer): GivenResult | Problem {
  let given: unknown
  try {
    given = JSON.parse(bytes.toString())
  } catch {
    return wrong('it is not JSON')
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return wrong('it is not an object')
  const members = given as Readonly<Record<string, unknown>>
  const strange = Object.keys(members).find((key) => !KEYS.includes(key))
  if (strange !== undefined) return wrong(`unknown member "${strange}"`)
  const { status } = members
  if (typeof status !== 'number' || !Number.isInteger(status) || status < 200 || status > 599)
    return wrong('status is not a number from 200 to 599')
  const headers = readHeaders(members['headers'] ?? {})
  if (headers === undefined) return wrong('headers is not an object of names and values (texts, or lists of them)')
  const body = readBody(members)
  if (body === undefined) return wrong('body is not a text, bodyBase64 is not base64, or both are there')
  return { status, headers, body }
}

/** An object of names and values (texts, or lists of them) as lines. */
export function readHeaders(given: unknown): string[] | undefined {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return undefined
  const lines = Object.entries(given).flatMap(([name, value]: [string, unknown]) =>
    [value].flat().map((line: unknown) => [name, line] as const),
  )
  if (!lines.every(([name, line]) => NAME.test(name) && typeof line === 'string' && VALUE.test(line))) return undefined
  return lines.flatMap(([name, line]) => [name, String(line).trim()])
}

/** `body`, a text, or `bodyBase64`; nothing is the empty one. Undefined: neither can be read. */
export function readBody({ body, bodyBase64 }: Readonly<Record<string, unknown>>): Buffer | undefined {
  if (bodyBase64 === undefined) return body === undefined ? Buffer.alloc(0) : typeof body === 'string' ? Buffer.from(body) : undefined
  if (body !== undefined || typeof bodyBase64 !== 'string' || !BASE64.test(bodyBase64)) return undefined
  return Buffer.from(bodyBase64, 'base64')
}

function wrong(why: string): Problem {
  return problem('body-invalid', `The result cannot be read: ${why}.`)
}
