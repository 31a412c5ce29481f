// One question to the upstream: its status, and where that is wanted its whole answer, in bounded memory and time.
import { createHash } from 'node:crypto'
import type { HeaderList } from '../model/stored-response.ts'
import { type Forwarding, forward, type UpstreamRequest } from './forward.ts'
import type { UpstreamError } from './upstream-error.ts'
import type { Upstream } from './upstreams.ts'

export interface WholeAnswer {
  readonly status: number
  readonly headers: HeaderList
  /** SHA-256 in hex, of all of the body. */
  readonly bodyHash: string
  readonly bodyBytes: number
  /** Undefined: it was over the limit, and only hashed. */
  readonly body: Buffer | undefined
}

/** `status`: an answer of which only that was wanted. */
export type Asked =
  | { readonly kind: 'whole'; readonly answer: WholeAnswer }
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'none'; readonly error: UpstreamError }

export interface AskOptions {
  /** Whether the body of an answer with this status is wanted. */
  readonly wanted: (status: number) => boolean
  /** Longer bodies are hashed and not kept. */
  readonly maxBytes: number
}

/** Never rejects. `cancel` ends it at once, as an answer that did not come. */
export function ask(
  upstream: Upstream,
  request: UpstreamRequest,
  { wanted, maxBytes }: AskOptions,
): { asked: Promise<Asked>; cancel: () => void } {
  let forwarding: Forwarding | undefined
  const asked = new Promise<Asked>((resolve) => {
    const hash = createHash('sha256')
    let head = { status: 0, headers: [] as string[] }
    let chunks: Buffer[] = []
    let bodyBytes = 0
    forwarding = forward(upstream, request, {
      onHead: (status, headers) => {
        head = { status, headers }
        if (wanted(status)) return
        resolve({ kind: 'status', status })
        // Nobody reads the rest, however long it is. Not at once: undici is in the middle of the head.
        queueMicrotask(() => forwarding?.cancel())
      },
      onData: (chunk) => {
        hash.update(chunk)
        bodyBytes += chunk.length
        if (bodyBytes <= maxBytes) chunks.push(chunk)
        else chunks = []
      },
      onEnd: () => {
        const body = bodyBytes <= maxBytes ? Buffer.concat(chunks) : undefined
        resolve({ kind: 'whole', answer: { ...head, bodyHash: hash.digest('hex'), bodyBytes, body } })
      },
      onFail: (error) => resolve({ kind: 'none', error }),
    })
  })
  return { asked, cancel: () => forwarding?.cancel() }
}
