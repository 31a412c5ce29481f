// The bytes of an event stream with something put in between, so that every event of it remains what it was.
import { BYTE_ORDER_MARK, EventStreamSplitter, type StreamEvent } from '../model/event-stream.ts'

const LF = 0x0a

/** Bytes go in by `feed` and come out by `take`; what is put in comes out in its place. Nothing is held back but a part of a byte order mark. */
export class EventStreamInsertions {
  readonly #idOf: ((n: number) => string) | undefined
  readonly #splitter = new EventStreamSplitter({ event: (event) => this.#endEvent(event) })
  #out: Buffer[] = []
  /** The piece being fed, its offset, and how much of it is out. */
  #piece: Buffer = NOTHING
  #offset = 0
  #done = 0
  #events = 0
  /** How many bytes of a byte order mark have come, at the start. */
  #mark = 0
  #begun = false
  /** Something was put in behind a CR: an LF that comes now would end another line. */
  #lineEnded = false

  /** `idOf`: the id for the n-th event with data, counted from 1, where it has none. */
  constructor(idOf: ((n: number) => string) | undefined) {
    this.#idOf = idOf
  }

  get betweenEvents(): boolean {
    return this.#splitter.betweenEvents
  }

  /** Between events only. */
  insert(bytes: Buffer): void {
    this.#out.push(bytes)
    this.#begun = true
    this.#lineEnded = this.#splitter.afterCr
  }

  feed(piece: Buffer): void {
    if (piece.length === 0) return
    this.#piece = this.#mark < BYTE_ORDER_MARK.length ? this.#withMark(piece) : piece
    if (this.#piece.length === 0) return
    if (this.#lineEnded && this.#piece[0] === LF) this.#done = 1
    this.#lineEnded = false
    this.#splitter.feed(this.#piece)
    this.#pass(this.#piece.length)
    this.#offset += this.#piece.length
    this.#piece = NOTHING
    this.#done = 0
  }

  /** What is ready to be sent. */
  take(): Buffer {
    const [first = NOTHING] = this.#out
    const bytes = this.#out.length <= 1 ? first : Buffer.concat(this.#out)
    this.#out = []
    return bytes
  }

  /** The same, and nothing comes any more. */
  takeLast(): Buffer {
    if (this.#mark < BYTE_ORDER_MARK.length) this.#out.push(BYTE_ORDER_MARK.subarray(0, this.#mark))
    return this.take()
  }

  /** The start of the stream, once it is known. A mark stays only where nothing was put before it: elsewhere it would be a part of a name. */
  #withMark(piece: Buffer): Buffer {
    const before = this.#mark
    let at = 0
    while (this.#mark < BYTE_ORDER_MARK.length && piece[at] === BYTE_ORDER_MARK[this.#mark]) {
      this.#mark++
      at++
    }
    if (at === piece.length && this.#mark < BYTE_ORDER_MARK.length) return NOTHING
    const whole = this.#mark === BYTE_ORDER_MARK.length
    this.#mark = BYTE_ORDER_MARK.length
    if (whole && this.#begun) this.#done = BYTE_ORDER_MARK.length
    return before === 0 ? piece : Buffer.concat([BYTE_ORDER_MARK.subarray(0, before), piece])
  }

  #endEvent({ blankAt, id, hasData, lineEnd }: StreamEvent): void {
    if (!hasData) return
    this.#events++
    if (this.#idOf === undefined || id !== undefined) return
    this.#pass(blankAt - this.#offset)
    // With the event's own line end: clients that look for blank lines as text expect two of a kind.
    this.#out.push(Buffer.from(`id: ${this.#idOf(this.#events)}${lineEnd}`))
  }

  #pass(to: number): void {
    if (to > this.#done) this.#out.push(this.#piece.subarray(this.#done, to))
    this.#done = Math.max(this.#done, to)
  }
}

const NOTHING: Buffer = Buffer.alloc(0)
