// A stored body for this client: as it is, decoded where the client does not accept its Content-Encoding, or addressed anew (JSON-RPC).
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import { headerValue } from '../model/headers.ts'
import { bodyRewriter } from '../model/jsonrpc/body-rewriter.ts'
import type { Requester } from '../model/jsonrpc/requester.ts'
import type { HeaderList, StoredResponse } from '../model/stored-response.ts'

/** A stored body that decodes to more than this is sent as it is. */
const MAX_DECODED_BYTES = 64 * 1024 * 1024

type Decoder = (body: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>

const DECODERS: Readonly<Record<string, Decoder>> = {
  gzip: promisify(gunzip) as Decoder,
  'x-gzip': promisify(gunzip) as Decoder,
  deflate: promisify(inflate) as Decoder,
  br: promisify(brotliDecompress) as Decoder,
}

export function canDecode(coding: string): boolean {
  return Object.hasOwn(DECODERS, coding)
}

export interface ReplayBody {
  readonly headers: HeaderList
  readonly body: Buffer
}

/**
 * RFC 9110 12.5.3. A client that sends no Accept-Encoding is given the plain bytes: formally it would take any coding,
 * but clients that do not ask for one cannot undo it.
 */
export async function replayBody(stored: StoredResponse, acceptEncoding: string | undefined): Promise<ReplayBody> {
  const { head, body } = stored
  const coding = codingOf(head.headers)
  if (coding === undefined || DECODERS[coding] === undefined || body.length === 0 || acceptsCoding(acceptEncoding, coding))
    return { headers: head.headers, body }
  const plain = await decoded(stored)
  return plain === undefined ? { headers: head.headers, body } : { headers: identityHeaders(head.headers), body: plain }
}

/**
 * The stored JSON-RPC answer for another requester. It goes out without its Content-Encoding, whatever the client accepts: what was
 * rewritten would have to be encoded again. Where nothing had to be changed it is replayed like any other.
 */
export async function addressedReplay(stored: StoredResponse, acceptEncoding: string | undefined, to: Requester): Promise<ReplayBody> {
  const { headers } = stored.head
  const rewriter = bodyRewriter(headerValue(headers, 'content-type'), to)
  const plain = rewriter && (await decoded(stored))
  if (rewriter === undefined || plain === undefined) return replayBody(stored, acceptEncoding)
  const body = Buffer.concat([rewriter.push(plain), rewriter.end()])
  return body.equals(plain) ? replayBody(stored, acceptEncoding) : { headers: identityHeaders(headers), body }
}

/** The bytes without their Content-Encoding; undefined where they are not what it says, or too large: then they are the truth as they came. */
async function decoded({ head, body }: StoredResponse): Promise<Buffer | undefined> {
  const coding = codingOf(head.headers)
  if (coding === undefined || coding === 'identity' || body.length === 0) return body
  try {
    return await DECODERS[coding]?.(body, { maxOutputLength: MAX_DECODED_BYTES })
  } catch {
    return undefined
  }
}

function codingOf(headers: HeaderList): string | undefined {
  return headerValue(headers, 'content-encoding')?.trim().toLowerCase()
}

/** RFC 9110 12.5.3; see replayBody for a client that sends none. */
export function acceptsCoding(header: string | undefined, coding: string): boolean {
  let wildcard = false
  for (const item of (header ?? '').toLowerCase().split(',')) {
    const [name, ...parameters] = item.split(';').map((text) => text.trim())
    const refused = parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))
    if (name === coding) return !refused
    if (name === '*') wildcard = !refused
  }
  return wildcard
}

/** Other bytes than the ones a strong validator was made for (RFC 9110 8.8.1). */
export function identityHeaders(headers: HeaderList): string[] {
  const kept: string[] = []
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase()
    if (OF_THE_STORED_BYTES.has(name)) continue
    kept.push(headers[i]!, headers[i + 1]!)
  }
  return kept
}

const OF_THE_STORED_BYTES = new Set(['content-encoding', 'etag', 'digest', 'content-digest', 'repr-digest'])
