// The first client's copy of an answer: streamed as it comes, its end held back until the record is committed.
import { headerValue } from '../model/headers.ts'
import type { HeaderList } from '../model/stored-response.ts'
import type { ClientStream } from './answer.ts'

/** A whole answer up to this size waits for the commit as one piece; it could not be useful earlier. */
const HELD_WHOLE_BYTES = 65_536

/**
 * Whoever saw the clean end of a guarded answer can rely on it being stored. So what ends the message at the client is
 * held: the terminal chunk of a chunked answer, the last piece of one with a Content-Length, all of a small one.
 */
export class ClientCopy {
  readonly #client: ClientStream
  #held: Buffer[] = []
  #heldBytes = 0
  #mode: 'hold' | 'stream' = 'hold'
  /** Body bytes still to come where the length was declared. */
  #left: number | undefined
  #status = 0
  #headers: HeaderList = []

  constructor(client: ClientStream) {
    this.#client = client
  }

  /** True once the client has seen the head: from then on the only honest failure is a broken connection. */
  get begun(): boolean {
    return this.#mode === 'stream'
  }

  /** `whole`: hold it whatever its length, as far as that is small: what is not a result must be settled before it is seen. */
  head(status: number, headers: HeaderList, whole: boolean): void {
    this.#status = status
    this.#headers = headers
    const declared = headerValue(headers, 'content-length')
    this.#left = declared === undefined ? undefined : Number(declared)
    const bodiless = status === 204 || status === 304
    const small = bodiless || (this.#left !== undefined && this.#left <= HELD_WHOLE_BYTES)
    if (small || whole) return
    this.#stream()
    this.#client.flushHead()
  }

  /** False: the client is slow. */
  write(chunk: Buffer): boolean {
    if (this.#left !== undefined) this.#left -= chunk.length
    if (this.#mode === 'hold') {
      this.#hold(chunk)
      if (this.#heldBytes > HELD_WHOLE_BYTES) this.#stream()
      return true
    }
    if (this.#left !== undefined && this.#left <= 0) {
      this.#hold(chunk)
      return true
    }
    return this.#client.write(chunk)
  }

  /** The record is committed: the client may see the end. */
  end(): void {
    if (this.#mode === 'hold') this.#client.head(this.#status, this.#headers)
    const last = this.#held.length === 1 ? this.#held[0] : this.#held.length === 0 ? undefined : Buffer.concat(this.#held)
    this.#client.end(last)
  }

  break(): void {
    this.#client.break()
  }

  #hold(chunk: Buffer): void {
    this.#held.push(chunk)
    this.#heldBytes += chunk.length
  }

  #stream(): void {
    this.#mode = 'stream'
    this.#client.head(this.#status, this.#headers)
    for (const chunk of this.#held) this.#client.write(chunk)
    this.#held = []
    this.#heldBytes = 0
  }
}
