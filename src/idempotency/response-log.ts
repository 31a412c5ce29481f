// Records one upstream answer as it comes: the bytes up to a limit, their hash to the end.
import { createHash, hash, type Hash } from 'node:crypto'
import type { HeaderList, StoredResponse } from '../model/stored-response.ts'

const NOTHING = Buffer.alloc(0)

export class ResponseLog {
  readonly #maxBytes: number
  #chunks: Buffer[] = []
  #bytes = 0
  /** Only beyond the limit; up to it the kept bytes are hashed at the end. */
  #hash: Hash | undefined

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** True once there is more than may be kept; the bytes are dropped then, the hash goes on. */
  get overflowed(): boolean {
    return this.#hash !== undefined
  }

  append(chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#hash !== undefined) this.#hash.update(chunk)
    else {
      this.#chunks.push(chunk)
      if (this.#bytes > this.#maxBytes) this.#overflow()
    }
  }

  /** What goes into the store. Call once, when the answer is whole. */
  close(status: number, headers: HeaderList): StoredResponse {
    const body =
      this.#chunks.length === 1 ? this.#chunks[0]! : this.#chunks.length === 0 ? NOTHING : Buffer.concat(this.#chunks, this.#bytes)
    // In one call: a Hash object for each answer would cost more than the hashing.
    const bodyHash = this.#hash === undefined ? hash('sha256', body, 'hex') : this.#hash.digest('hex')
    return { head: { status, headers, bodyHash, bodyBytes: this.#bytes, bodyStored: !this.overflowed }, body }
  }

  #overflow(): void {
    this.#hash = createHash('sha256')
    for (const chunk of this.#chunks) this.#hash.update(chunk)
    this.#chunks = []
  }
}
