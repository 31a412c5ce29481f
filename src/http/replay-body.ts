// A stored body for this client: as it is, or decoded where the client does not accept its Content-Encoding.
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import { headerValue } from '../model/headers.ts'
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
export async function replayBody({ head, body }: StoredResponse, acceptEncoding: string | undefined): Promise<ReplayBody> {
  const coding = headerValue(head.headers, 'content-encoding')?.trim().toLowerCase()
  const decode = coding === undefined ? undefined : DECODERS[coding]
  if (coding === undefined || decode === undefined || body.length === 0 || acceptsCoding(acceptEncoding, coding))
    return { headers: head.headers, body }
  try {
    return { headers: identityHeaders(head.headers), body: await decode(body, { maxOutputLength: MAX_DECODED_BYTES }) }
  } catch {
    // Not what its Content-Encoding says, or too large: the upstream's bytes as they came are the truth.
    return { headers: head.headers, body }
  }
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
    if (name === 'content-encoding' || name === 'etag' || name === 'digest' || name === 'content-digest') continue
    kept.push(headers[i]!, headers[i + 1]!)
  }
  return kept
}
