// The parts of a request that a fingerprint may be made from.
import type { RequestParts } from '../fingerprint/request-parts.ts'
import type { HeaderList } from '../model/stored-response.ts'
import type { Exchange } from './exchange.ts'

/** `headers`: the end-to-end lines. */
export function requestParts(exchange: Exchange, headers: HeaderList, body: Buffer): RequestParts {
  return {
    method: exchange.raw.method!,
    path: exchange.target.path,
    query: exchange.target.query,
    headers,
    host: exchange.raw.headers.host ?? '',
    ip: exchange.ip,
    body,
    receivedAt: Date.now(),
  }
}
