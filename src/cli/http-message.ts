// One HTTP/1.1 request as text (RFC 9112), as a tool has saved it or as somebody has written it by hand.
import { UsageError } from './usage-error.ts'

export interface HttpMessage {
  readonly method: string
  /** As it stands in the first line. */
  readonly target: string
  /** Name and value in turn. */
  readonly headers: readonly string[]
  readonly body: Buffer
}

const TOKEN = String.raw`[!#$%&'*+.^_\`|~0-9A-Za-z-]+`
const REQUEST_LINE = new RegExp(`^(${TOKEN}) (\\S+)(?: HTTP/1\\.[01])?$`)
const HEADER_LINE = new RegExp(`^(${TOKEN}):[ \\t]*(.*?)[ \\t]*$`)

/**
 * Lines may end in LF alone, as editors write them, and the first line may lack its version. Without a Content-Length and a
 * Transfer-Encoding the rest is the body, but for one line end at its end. Throws a UsageError that names the line.
 */
export function readHttpMessage(bytes: Buffer): HttpMessage {
  const { lines, rest } = splitHead(bytes)
  const [first = ''] = lines
  const [, method, target] = REQUEST_LINE.exec(first) ?? []
  if (method === undefined || target === undefined) throw badLine(1, first, 'is no request line', "like 'POST /orders HTTP/1.1'")
  const headers = lines.slice(1).flatMap((line, n) => readHeader(line, n + 2))
  return { method, target, headers, body: bodyOf(headers, rest) }
}

/** One header line; throws a UsageError. */
export function readHeader(line: string, number?: number): [name: string, value: string] {
  const [, name, value] = HEADER_LINE.exec(line) ?? []
  if (name !== undefined && value !== undefined) return [name, value]
  // RFC 9112 section 5.2: a line that goes on is refused by the gateway too.
  const folded = number !== undefined && /^[ \t]/.test(line)
  throw badLine(number, line, folded ? 'continues the line before it' : 'is no header', folded ? undefined : "'Name: value'")
}

function badLine(number: number | undefined, line: string, why: string, wanted: string | undefined): UsageError {
  const where = number === undefined ? `"${line}"` : `line ${number} of the request, "${line.slice(0, 80)}",`
  return new UsageError(`${where} ${why}${wanted === undefined ? '' : `: write ${wanted}`}`)
}

/** Empty lines before the request line do not count (RFC 9112 section 2.2); without an empty line behind the head there is no body. */
function splitHead(bytes: Buffer): { lines: string[]; rest: Buffer } {
  const lines: string[] = []
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(0x0a, at)
    const line = bytes.toString('latin1', at, end === -1 ? bytes.length : end).replace(/\r$/, '')
    at = end === -1 ? bytes.length : end + 1
    if (line === '' && lines.length > 0) return { lines, rest: bytes.subarray(at) }
    if (line !== '') lines.push(line)
  }
  return { lines, rest: Buffer.alloc(0) }
}

function bodyOf(headers: readonly string[], rest: Buffer): Buffer {
  const valuesOf = (wanted: string): string[] => headers.filter((_, at) => at % 2 === 1 && headers[at - 1]?.toLowerCase() === wanted)
  const coding = valuesOf('transfer-encoding')
  const lengths = [...new Set(valuesOf('content-length'))]
  if (coding.length > 0) {
    if (coding.length > 1 || coding[0]?.toLowerCase() !== 'chunked') throw new UsageError('of the transfer codings only "chunked" is read')
    if (lengths.length > 0) throw new UsageError('the request has both Content-Length and Transfer-Encoding, which the gateway refuses')
    return readChunks(rest)
  }
  const [length] = lengths
  if (length === undefined) return withoutLineEnd(rest)
  if (lengths.length > 1 || !/^\d+$/.test(length)) throw new UsageError(`Content-Length: ${lengths.join(', ')} is no length`)
  if (Number(length) > rest.length) throw new UsageError(`Content-Length is ${length}, but only ${rest.length} bytes follow the headers`)
  const more = rest.subarray(Number(length))
  if (more.toString('latin1').trim() !== '') {
    throw new UsageError(`Content-Length is ${length}, but ${rest.length} bytes follow the headers`)
  }
  return rest.subarray(0, Number(length))
}

function withoutLineEnd(rest: Buffer): Buffer {
  if (rest.at(-1) !== 0x0a) return rest
  return rest.subarray(0, rest.at(-2) === 0x0d ? -2 : -1)
}

/** RFC 9112 section 7.1, without the trailers. */
function readChunks(rest: Buffer): Buffer {
  const chunks: Buffer[] = []
  for (let at = 0; ;) {
    const end = rest.indexOf(0x0a, at)
    const [, size] = /^([0-9A-Fa-f]{1,8})[ \t]*(?:;.*)?\r?$/.exec(rest.toString('latin1', at, Math.max(end, at))) ?? []
    if (size === undefined) throw new UsageError(`the chunked body has no size where chunk ${chunks.length + 1} should begin`)
    const length = Number.parseInt(size, 16)
    if (length === 0) return Buffer.concat(chunks)
    const chunk = rest.subarray(end + 1, end + 1 + length)
    const after = /^\r?\n/.exec(rest.toString('latin1', end + 1 + length, end + 3 + length))?.[0]
    if (chunk.length < length || after === undefined)
      throw new UsageError(`chunk ${chunks.length + 1} of the body is not ${length} bytes long`)
    chunks.push(chunk)
    at = end + 1 + length + after.length
  }
}
