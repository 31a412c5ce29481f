// Reads a guarded request's body as bytes, up to the rule's limit.
import type { IncomingMessage } from 'node:http'

export type BodyReading =
  | { readonly kind: 'read'; readonly body: Buffer }
  | { readonly kind: 'too-large' }
  /** The client broke off before its body was whole. */
  | { readonly kind: 'aborted' }

const NOTHING = Buffer.alloc(0)

/** RFC 9112 6: only these two announce a body. */
export function hasBody(request: IncomingMessage): boolean {
  return request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0
}

/** A declared length over the limit is refused before a byte is read; `begin` is told when the reading begins. */
export function readBody(request: IncomingMessage, maxBytes: number, { begin }: { begin: () => void }): Promise<BodyReading> {
  if (!hasBody(request)) return Promise.resolve({ kind: 'read', body: NOTHING })
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return Promise.resolve({ kind: 'too-large' })
  begin()
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let bytes = 0
    // Settling twice does nothing, so the listeners may stay: taking them off would cost more than they do.
    const done = resolve
    const onData = (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > maxBytes) {
        chunks.length = 0
        done({ kind: 'too-large' })
      } else chunks.push(chunk)
    }
    const onEnd = () => done({ kind: 'read', body: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, bytes) })
    const onAborted = () => done({ kind: 'aborted' })
    request.on('data', onData).on('end', onEnd).on('error', onAborted).on('close', onAborted)
  })
}
