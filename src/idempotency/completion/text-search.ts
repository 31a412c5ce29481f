// Whether a text stands in bytes that come in pieces.

export class TextSearch {
  readonly #text: Buffer
  /** The end of what came, as far as the text may have begun in it. */
  #rest: Buffer = NOTHING
  #found = false

  constructor(text: string) {
    this.#text = Buffer.from(text)
  }

  get found(): boolean {
    return this.#found
  }

  /** What comes next has nothing to do with what came. */
  reset(): void {
    this.#found = false
    this.#rest = NOTHING
  }

  /** What comes next does not follow on what came; what was found remains. */
  cut(): void {
    this.#rest = NOTHING
  }

  feed(piece: Buffer): void {
    if (this.#found) return
    const overlap = this.#text.length - 1
    if (this.#rest.length > 0 && Buffer.concat([this.#rest, piece.subarray(0, overlap)]).includes(this.#text)) this.#found = true
    else if (piece.includes(this.#text)) this.#found = true
    else if (overlap > 0) this.#rest = lastBytes(this.#rest, piece, overlap)
  }
}

const NOTHING: Buffer = Buffer.alloc(0)

/** A copy, so that no piece is kept for its last bytes. */
function lastBytes(before: Buffer, piece: Buffer, count: number): Buffer {
  if (piece.length >= count) return Buffer.from(piece.subarray(piece.length - count))
  const both = Buffer.concat([before, piece])
  return both.subarray(Math.max(0, both.length - count))
}
