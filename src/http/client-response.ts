// The client's side of a response on node:http: raw header lines, back-pressure, and ends that tell the truth.
import type { ServerResponse } from 'node:http'
import type { ClientStream } from '../idempotency/answer.ts'
import type { Problem } from '../model/problems.ts'
import type { HeaderList } from '../model/stored-response.ts'

const NOTHING = Buffer.alloc(0)

const ONE_PIECE_BYTES = 16_384

/** A broken-off client that does not read on is cut after this. */
const LAST_BYTES_MS = 5000

export class ClientResponse implements ClientStream {
  readonly #response: ServerResponse
  /** Undefined until somebody wants to know: most requests are answered before. */
  #goneListeners: (() => void)[] | undefined
  /** Something of this answer has gone out already. */
  #begun = false

  constructor(response: ServerResponse) {
    this.#response = response
    // A write to a client that has left fails; `close` tells of it.
    response.on('error', nothing)
  }

  get gone(): boolean {
    return this.#response.destroyed
  }

  onGone(listener: () => void): void {
    if (this.#goneListeners === undefined) this.#goneListeners = this.#watchClose()
    this.#goneListeners.push(listener)
  }

  #watchClose(): (() => void)[] {
    const listeners: (() => void)[] = []
    this.#response.on('close', () => {
      if (this.#response.writableEnded) return
      for (const listener of listeners) listener()
    })
    return listeners
  }

  head(status: number, headers: HeaderList): void {
    if (!this.gone) this.#response.writeHead(status, headers as string[])
  }

  flushHead(): void {
    this.#begun = true
    // flushHeaders would write the head as UTF-8, and every byte of it above 127 as two.
    if (!this.gone) this.#response.write(NOTHING)
  }

  write(chunk: Buffer): boolean {
    this.#begun = true
    return this.gone || this.#response.write(chunk)
  }

  onDrain(listener: () => void): void {
    this.#response.once('drain', listener)
  }

  end(chunk?: Buffer): void {
    if (this.gone) return
    // As a latin1 string the same bytes go out in one piece with the head; as a Buffer they would be a write of their own.
    if (chunk !== undefined && chunk.length <= ONE_PIECE_BYTES && !this.#begun) this.#response.end(chunk.toString('latin1'), 'latin1')
    else this.#response.end(chunk)
  }

  /** No terminal chunk, or fewer bytes than declared: RFC 9112 8 calls that incomplete. */
  break(_problem?: Problem): void {
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

function nothing(): void {}
