// One request under inspection: what several selectors read is read once, and only if one of them asks.
import { parseCookie, type Cookies } from 'cookie'
import { bodyKind, type BodyKind } from './body-kind.ts'
import { parseForm } from './form.ts'
import { parseJson } from './json.ts'
import { JsonError, type JsonValue } from './json-value.ts'
import type { Multipart } from './multipart.ts'
import { parseQuery, type Query } from './query.ts'
import { Refusal } from './refusal.ts'
import type { RequestParts } from './request-parts.ts'

export type Params = Readonly<Record<string, string | undefined>>

/** How far a pointer is quoted to the client. */
const POINTER_CHARS = 200

export class RequestContext {
  readonly request: RequestParts
  readonly params: Params
  private parsed: { readonly value: JsonValue } | undefined
  private kindOfBody: BodyKind | undefined
  private parsedQuery: Query | undefined
  private parsedCookies: Cookies | undefined

  /** `other`: the same request, as read under another rule. */
  constructor(request: RequestParts, params: Params, other?: RequestContext) {
    this.request = request
    this.params = params
    this.parsed = other?.parsed
    this.kindOfBody = other?.kindOfBody
    this.parsedQuery = other?.parsedQuery
    this.parsedCookies = other?.parsedCookies
  }

  /** Every line of that name, without the white space around it (RFC 9110 section 5.5). */
  headerLines(name: string): string[] {
    const { headers } = this.request
    const lines: string[] = []
    for (let at = 0; at + 1 < headers.length; at += 2) {
      const candidate = headers[at]!
      if (candidate.length === name.length && candidate.toLowerCase() === name) lines.push(trimLine(headers[at + 1]!))
    }
    return lines
  }

  query(): Query {
    return (this.parsedQuery ??= parseQuery(this.request.query))
  }

  /** As sent: neither unquoted nor decoded. HTTP/2 may split the header (RFC 9113 section 8.2.3). */
  cookie(name: string): string | undefined {
    this.parsedCookies ??= parseCookie(this.headerLines('cookie').join('; '), { decode: (value) => value })
    return this.parsedCookies[name]
  }

  get hasBody(): boolean {
    return this.request.body.length > 0
  }

  get kind(): BodyKind {
    return (this.kindOfBody ??= bodyKind(this.headerLines('content-type'), this.headerLines('content-encoding')))
  }

  get hasFields(): boolean {
    return this.kind !== 'other'
  }

  /** The body's value, for selectors of fields; a body without fields is refused. */
  fields(): JsonValue {
    this.parsed ??= { value: this.readFields() }
    return this.parsed.value
  }

  private readFields(): JsonValue {
    switch (this.kind) {
      case 'json':
        return readJson(this.request.body)
      case 'form':
        return parseForm(this.request.body)
      case 'multipart':
        return readForm(this.request.multipart)
      case 'other':
        throw new Refusal('body-unsupported', 'The rule reads fields of the body: send JSON or a form with its Content-Type, uncompressed.')
    }
  }
}

function readForm(multipart: Multipart | undefined): JsonValue {
  if (multipart === undefined) throw new Error('a multipart body was not read before the request is identified')
  if (multipart.kind === 'form') return multipart.fields
  throw new Refusal('body-invalid', `The body is not a valid multipart form: ${multipart.reason}.`)
}

/** Spaces and tabs only. By hand: a regular expression for the end takes quadratic time over a long run of blanks. */
function trimLine(value: string): string {
  let start = 0
  let end = value.length
  while (start < end && isBlank(value.charCodeAt(start))) start++
  while (end > start && isBlank(value.charCodeAt(end - 1))) end--
  return value.slice(start, end)
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}

function readJson(body: Buffer): JsonValue {
  try {
    return parseJson(body)
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    const where = error.pointer === undefined ? '' : ` (${error.pointer.slice(0, POINTER_CHARS)})`
    throw new Refusal('body-invalid', `The body is not valid JSON: ${error.reason} at character ${error.position}${where}.`, error)
  }
}
