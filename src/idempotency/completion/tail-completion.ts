// Whether the last bytes of a stream hold a text, whatever its form.
import type { PlainCompletion } from './completion.ts'

const TAIL_BYTES = 16_384

export class TailCompletion implements PlainCompletion {
  readonly #text: string
  /** At least the last TAIL_BYTES, once there are so many. */
  #pieces: Buffer[] = []
  #bytes = 0

  constructor(text: string) {
    this.#text = text
  }

  append(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#bytes += piece.length
    if (this.#bytes >= 2 * TAIL_BYTES) this.#forget()
  }

  isComplete(): boolean {
    this.#forget()
    return this.#pieces.some((piece) => piece.includes(this.#text))
  }

  #forget(): void {
    // Copied, so that a large piece is not kept for its end.
    const tail = Buffer.from(Buffer.concat(this.#pieces).subarray(-TAIL_BYTES))
    this.#pieces = [tail]
    this.#bytes = tail.length
  }
}
