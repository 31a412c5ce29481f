// One request to the upstream: sent once, never again by itself, and always told how it ended.
import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { HeaderList } from '../model/stored-response.ts'
import { UpstreamError, type UpstreamFault } from './upstream-error.ts'
import type { Upstream } from './upstreams.ts'

export interface UpstreamRequest {
  readonly method: string
  /** Path and query, as the client wrote them. */
  readonly target: string
  /** End-to-end headers; `Host` is replaced by the upstream's. */
  readonly headers: HeaderList
  readonly body: Buffer | Readable | null
  /** Milliseconds from now until the answer must be whole; 0: no limit. */
  readonly timeoutMs: number
}

/** Told in this order: onHead, onData …, then onEnd or onFail exactly once; onFail may come at any point before onEnd. */
export interface ResponseEvents {
  onHead(status: number, headers: string[]): void
  onData(chunk: Buffer): void
  onEnd(): void
  onFail(error: UpstreamError): void
}

export interface Forwarding {
  /** Gives up: onFail follows at once, as `cancelled`, unless it has already ended. */
  cancel(): void
  pause(): void
  resume(): void
}

/** undici would throw on `Expect`, and frames the message itself. */
const REFRAMED = new Set(['expect', 'host', 'content-length'])

export function forward(upstream: Upstream, request: UpstreamRequest, events: ResponseEvents): Forwarding {
  const exchange = new UpstreamExchange(request, events)
  const options: Dispatcher.DispatchOptions = {
    method: request.method as Dispatcher.HttpMethod,
    path: request.target,
    headers: upstreamHeaders(upstream, request),
    body: request.body,
    // undici repeats what it takes for idempotent (GET) after a reset; whoever sent it decides that, not the gateway.
    idempotent: false,
  }
  try {
    upstream.pool.dispatch(options, exchange)
  } catch (error) {
    exchange.onError(error)
  }
  return exchange
}

function upstreamHeaders(upstream: Upstream, request: UpstreamRequest): string[] {
  const headers = ['host', upstream.host]
  const streamed = request.body !== null && !Buffer.isBuffer(request.body)
  for (let i = 0; i < request.headers.length; i += 2) {
    const name = request.headers[i]!.toLowerCase()
    // A streamed body keeps the length its sender declared; a buffered one has its own.
    if (REFRAMED.has(name) && !(streamed && name === 'content-length')) continue
    headers.push(request.headers[i]!, request.headers[i + 1]!)
  }
  return headers
}

/**
 * undici's handler as its HTTP/1.1 client calls it. The newer `onResponse…` names are a wrapper around these that parses
 * every header into an object, which loses their order and number.
 */
class UpstreamExchange implements Dispatcher.DispatchHandler, Forwarding {
  readonly #request: UpstreamRequest
  readonly #events: ResponseEvents
  readonly #timer: NodeJS.Timeout | undefined
  #abort: ((reason?: Error) => void) | undefined
  #resume: (() => void) | undefined
  #paused = false
  #ended = false

  constructor(request: UpstreamRequest, events: ResponseEvents) {
    this.#request = request
    this.#events = events
    this.#timer = request.timeoutMs > 0 ? setTimeout(() => this.#giveUp('timeout'), request.timeoutMs) : undefined
  }

  cancel(): void {
    this.#giveUp('cancelled')
  }

  pause(): void {
    this.#paused = true
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#resume?.()
  }

  /** Called right before the first byte is written: from here on the upstream may have acted. */
  onConnect(abort: (reason?: Error) => void): void {
    this.#abort = abort
    // Given up while it waited for a connection: aborting here still keeps every byte back.
    if (this.#ended) abort(new Error('given up'))
  }

  onHeaders(status: number, headers: (Buffer | string)[], resume: () => void): boolean {
    this.#resume = resume
    // Interim answers (1xx, RFC 9110 15.2) are of this hop; only the final status counts.
    if (this.#ended || status < 200) return true
    this.#events.onHead(status, decodeHeaders(headers))
    // RFC 9112 6.3: these end with their head, whatever the headers say; undici would wait for a declared length.
    if (status === 204 || status === 304 || this.#request.method === 'HEAD') this.#finish()
    return !this.#paused
  }

  onData(chunk: Buffer): boolean {
    if (!this.#ended) this.#events.onData(chunk)
    return !this.#paused
  }

  onComplete(): void {
    if (!this.#ended) this.#finish()
  }

  onError(error: unknown): void {
    const sent = this.#abort !== undefined
    this.#fail(new UpstreamError(sent ? 'broken' : 'unreachable', sent, error))
  }

  #finish(): void {
    this.#close()
    this.#events.onEnd()
  }

  #giveUp(fault: UpstreamFault): void {
    if (this.#ended) return
    const sent = this.#abort !== undefined
    this.#fail(new UpstreamError(!sent && fault === 'timeout' ? 'unreachable' : fault, sent))
    this.#abort?.(new Error(`given up: ${fault}`))
  }

  #fail(error: UpstreamError): void {
    if (this.#ended) return
    this.#close()
    this.#events.onFail(error)
  }

  #close(): void {
    this.#ended = true
    clearTimeout(this.#timer)
  }
}

function decodeHeaders(raw: readonly (Buffer | string)[]): string[] {
  return raw.map((text) => (typeof text === 'string' ? text : text.toString('latin1')))
}
