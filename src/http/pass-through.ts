// Forwards what no rule guards: untouched, streaming both ways, and cancelled when the client leaves.
import type { IncomingMessage } from 'node:http'
import type { ClientStream } from '../idempotency/answer.ts'
import { passedOn } from '../model/headers.ts'
import { problem, type Problem } from '../model/problems.ts'
import type { HeaderList } from '../model/stored-response.ts'
import { forward } from '../upstream/forward.ts'
import type { UpstreamError } from '../upstream/upstream-error.ts'
import type { Upstream } from '../upstream/upstreams.ts'
import { hasBody } from './raw-body.ts'

export interface PassedRequest {
  readonly raw: IncomingMessage
  /** Path and query. */
  readonly target: string
  readonly headers: HeaderList
  /** Where the body was read already. */
  readonly body: Buffer | undefined
  /** Further header lines for the client. */
  readonly mark: HeaderList
}

export type Passed =
  | { readonly kind: 'passed'; readonly status: number | undefined; readonly whole: boolean }
  | { readonly kind: 'client-gone' }
  | { readonly kind: 'failed'; readonly problem: Problem }

export function passThrough(upstream: Upstream, request: PassedRequest, client: ClientStream): Promise<Passed> {
  return new Promise((resolve) => {
    let status: number | undefined
    const body = request.body ?? (hasBody(request.raw) ? request.raw : null)
    const forwarding = forward(
      upstream,
      { method: request.raw.method!, target: request.target, headers: request.headers, body, timeoutMs: 0 },
      {
        onHead: (upstreamStatus, headers) => {
          status = upstreamStatus
          client.head(upstreamStatus, [...passedOn(headers), ...request.mark])
          if (mayTakeLong(headers)) client.flushHead()
        },
        onData: (chunk) => {
          if (client.write(chunk)) return
          forwarding.pause()
          client.onDrain(() => forwarding.resume())
        },
        onEnd: () => {
          client.end()
          resolve({ kind: 'passed', status, whole: true })
        },
        onFail: (error) => {
          if (error.fault === 'cancelled') return resolve({ kind: 'client-gone' })
          if (status === undefined) return resolve({ kind: 'failed', problem: faultProblem(error) })
          client.break()
          resolve({ kind: 'passed', status, whole: false })
        },
      },
    )
    client.onGone(() => forwarding.cancel())
    if (client.gone) forwarding.cancel()
  })
}

/** An answer without a length may be a stream whose first event is still to come. */
function mayTakeLong(headers: HeaderList): boolean {
  return !headers.some((text, i) => i % 2 === 0 && text.length === 14 && text.toLowerCase() === 'content-length')
}

function faultProblem(error: UpstreamError): Problem {
  if (!error.sent) return problem('upstream-unreachable', 'No connection to the upstream; nothing was sent.')
  return problem('upstream-broken', 'The request was sent, and the connection broke before an answer came.')
}
