// Records one upstream answer as it comes: the bytes up to a limit, their hash to the end.
import { createHash } from 'node:crypto'
import type { HeaderList, StoredResponse } from '../model/stored-response.ts'

const NOTHING = Buffer.alloc(0)

export class ResponseLog {
  readonly #maxBytes: number
  readonly #hash = createHash('sha256')
  #chunks: Buffer[] = []
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get bytes(): number {
    return this.#bytes
  }

  /** True once there is more than may be kept; the bytes are dropped then, the hash goes on. */
  get overflowed(): boolean {
    return this.#bytes > this.#maxBytes
  }

  append(chunk: Buffer): void {
    this.#bytes += chunk.length
    this.#hash.update(chunk)
    if (this.overflowed) this.#chunks = []
    else this.#chunks.push(chunk)
  }

  /** What goes into the store. Call once, when the answer is whole. */
  close(status: number, headers: HeaderList): StoredResponse {
    const head = { status, headers, bodyHash: this.#hash.digest('hex'), bodyBytes: this.#bytes, bodyStored: !this.overflowed }
    return { head, body: this.#chunks.length === 1 ? this.#chunks[0]! : this.#chunks.length === 0 ? NOTHING : Buffer.concat(this.#chunks) }
  }
}
