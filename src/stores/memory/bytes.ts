// A body in memory, in the pieces it came in.
import { INLINE_BYTES } from '../store.ts'

export class Bytes {
  readonly #pieces: Buffer[] = []
  /** Where each piece begins. */
  readonly #starts: number[] = []
  #length = 0

  /** Keeps a copy: a piece of a socket's read buffer would keep the whole of it in memory. */
  add(piece: Buffer | undefined): void {
    if (piece === undefined || piece.length === 0) return
    this.#starts.push(this.#length)
    this.#pieces.push(Buffer.from(piece))
    this.#length += piece.length
  }

  /** All of it where it is small. */
  inline(): Buffer | undefined {
    if (this.#length > INLINE_BYTES) return undefined
    return this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces)
  }

  slice(offset: number, maxBytes: number): Buffer {
    const first = this.#starts.findLastIndex((start) => start <= offset)
    const slices: Buffer[] = []
    let left = maxBytes
    for (let n = Math.max(first, 0); n < this.#pieces.length && left > 0; n++) {
      const from = Math.max(0, offset - this.#starts[n]!)
      const slice = this.#pieces[n]!.subarray(from, from + left)
      slices.push(slice)
      left -= slice.length
    }
    return slices.length === 1 ? slices[0]! : Buffer.concat(slices)
  }
}
