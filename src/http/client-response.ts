// The client's side of a response on node:http: raw header lines, back-pressure, and ends that tell the truth.
import type { ServerResponse } from 'node:http'
import type { ClientStream } from '../idempotency/answer.ts'
import type { HeaderList } from '../model/stored-response.ts'

/** A broken-off client that does not read on is cut after this. */
const LAST_BYTES_MS = 5000

export class ClientResponse implements ClientStream {
  readonly #response: ServerResponse
  #gone = false

  constructor(response: ServerResponse) {
    this.#response = response
    response.on('close', () => {
      if (!response.writableEnded) this.#gone = true
    })
    // A write to a client that has left fails; `close` tells of it.
    response.on('error', () => {})
  }

  get gone(): boolean {
    return this.#gone || this.#response.destroyed
  }

  onGone(listener: () => void): void {
    this.#response.on('close', () => {
      if (!this.#response.writableEnded) listener()
    })
  }

  head(status: number, headers: HeaderList): void {
    if (!this.gone) this.#response.writeHead(status, headers as string[])
  }

  flushHead(): void {
    if (!this.gone) this.#response.flushHeaders()
  }

  write(chunk: Buffer): boolean {
    return this.gone || this.#response.write(chunk)
  }

  onDrain(listener: () => void): void {
    this.#response.once('drain', listener)
  }

  end(chunk?: Buffer): void {
    if (!this.gone) this.#response.end(chunk)
  }

  /** No terminal chunk, or fewer bytes than declared: RFC 9112 8 calls that incomplete. */
  break(): void {
    const { socket } = this.#response
    if (socket === null || socket.destroyed) return
    // Without framing (HTTP/1.0) the end of the connection is the end of the body: only a reset is not a clean one.
    if (!this.#response.chunkedEncoding && !this.#response.hasHeader('content-length') && this.#response.req.httpVersion === '1.0') {
      socket.resetAndDestroy()
      return
    }
    setTimeout(() => socket.destroy(), LAST_BYTES_MS).unref()
    socket.destroySoon()
  }
}
