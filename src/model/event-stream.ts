// Finds the events in the bytes of an event stream as they come (WHATWG HTML 9.2.6), without changing or keeping them.

/** What stood between two blank lines and had a field; comments alone are no event. */
export interface StreamEvent {
  /** Offset of the blank line that ends it; a line put in there is its last. */
  readonly blankAt: number
  /** Offset behind it. Where the blank line is a CR, an LF that follows belongs to it still: see `afterCr`. */
  readonly end: number
  /** Of its own id line, one character a byte, as node gives header values. Undefined: none that a client would take. */
  readonly id: string | undefined
  /** Of its event line, one character a byte. */
  readonly name: string | undefined
  /** Without data a client keeps its id, and dispatches nothing. */
  readonly hasData: boolean
  /** How its last line ends. */
  readonly lineEnd: LineEnd
}

export type LineEnd = '\n' | '\r' | '\r\n'

export interface EventStreamListener {
  event(event: StreamEvent): void
  /** A piece of what a data line holds, maybe empty; `first`: the line begins with it. */
  data?(piece: Buffer, first: boolean): void
}

const LF = 0x0a
const CR = 0x0d
const COLON = 0x3a
const SPACE = 0x20
const NOTHING = Buffer.alloc(0)
export const BYTE_ORDER_MARK: Buffer = Buffer.from([0xef, 0xbb, 0xbf])

/** A longer id or name counts as none: memory stays bounded, and no client could send it back in a header. */
const MAX_VALUE_BYTES = 4096

type Field = 'data' | 'id' | 'event'

const FIELDS: Readonly<Record<Field, Buffer>> = { data: Buffer.from('data'), id: Buffer.from('id'), event: Buffer.from('event') }

/** The field whose name begins with this byte. */
const BY_FIRST_BYTE: readonly (Field | undefined)[] = Array.from({ length: 256 }, (_, byte) =>
  (Object.keys(FIELDS) as Field[]).find((field) => FIELDS[field][0] === byte),
)

/**
 * Lines end with CR, LF or CRLF, also mixed; pieces may be cut anywhere. Memory does not grow with what is fed: of an event only
 * its id and its name are kept until it ends.
 */
export class EventStreamSplitter {
  readonly #listener: EventStreamListener
  /** Of the piece being fed. */
  #offset = 0
  /** How many bytes of a byte order mark have come; only the very start of a stream may have one. */
  #mark = 0
  #afterCr = false
  #lineEnd: LineEnd = '\n'
  /** Where the current line stands. `name`: within the name of `#field`, of which `#known` bytes have come. */
  #line: 'start' | 'name' | 'value' | 'ignored' = 'start'
  #field: Field = 'data'
  #known = 0
  #value = ''
  #valueStarts = false
  #tooLong = false
  /** Of the event that has begun, if one has. */
  #begun = false
  #id: string | undefined
  #name: string | undefined
  #hasData = false

  constructor(listener: EventStreamListener) {
    this.#listener = listener
  }

  /** No event has begun, and no line: whatever is put in here is not inside of one. */
  get betweenEvents(): boolean {
    return this.betweenLines && !this.#begun
  }

  /** The last line has ended, or none has begun. */
  get betweenLines(): boolean {
    return this.#line === 'start' && this.#mark % BYTE_ORDER_MARK.length === 0
  }

  /** The last byte was a CR: if an LF comes next, it belongs to the same line end. */
  get afterCr(): boolean {
    return this.#afterCr
  }

  /** The event that has begun and not ended has data. */
  get hasData(): boolean {
    return this.#hasData
  }

  /** Its name so far. */
  get name(): string | undefined {
    return this.#name
  }

  feed(piece: Buffer): void {
    let at = this.#mark < BYTE_ORDER_MARK.length ? this.#skipMark(piece) : 0
    // Each is searched for once, natively: most streams have no CR at all.
    let lf = -1
    let cr = -1
    while (at < piece.length) {
      if (lf < at) lf = indexOrLength(piece, LF, at)
      if (cr < at) cr = indexOrLength(piece, CR, at)
      const end = lf < cr ? lf : cr
      if (end > at) this.#take(piece, at, end)
      if (end < piece.length) this.#endLine(piece[end]!, end)
      at = end + 1
    }
    this.#offset += piece.length
  }

  #skipMark(piece: Buffer): number {
    let at = 0
    while (at < piece.length && this.#mark < BYTE_ORDER_MARK.length) {
      if (piece[at] !== BYTE_ORDER_MARK[this.#mark]) {
        // A part of a mark is a part of a name that nobody knows.
        if (this.#mark > 0) this.#ignoreLine()
        this.#mark = BYTE_ORDER_MARK.length
        return at
      }
      this.#mark++
      at++
    }
    return at
  }

  /** A part of a line, or all of it; at least one byte. */
  #take(piece: Buffer, start: number, end: number): void {
    this.#afterCr = false
    let at = start
    while (at < end && this.#line !== 'value' && this.#line !== 'ignored') this.#takeNameByte(piece[at++]!)
    if (at < end && this.#line === 'value') this.#takeValue(piece, at, end)
  }

  #takeNameByte(byte: number): void {
    if (this.#line === 'start') {
      if (byte === COLON) {
        this.#line = 'ignored'
        return
      }
      const field = BY_FIRST_BYTE[byte]
      if (field === undefined) return this.#ignoreLine()
      this.#begun = true
      this.#line = 'name'
      this.#field = field
      this.#known = 1
      return
    }
    const name = FIELDS[this.#field]
    if (this.#known < name.length) {
      if (byte === name[this.#known]) this.#known++
      else this.#line = 'ignored'
    } else if (byte === COLON) this.#startValue()
    else this.#line = 'ignored'
  }

  /** A line of a field that is of no interest here. */
  #ignoreLine(): void {
    this.#begun = true
    this.#line = 'ignored'
  }

  #startValue(): void {
    this.#line = 'value'
    this.#value = ''
    this.#valueStarts = true
    this.#tooLong = false
    if (this.#field === 'data') this.#hasData = true
  }

  #takeValue(piece: Buffer, start: number, end: number): void {
    let at = start
    const first = this.#valueStarts
    if (first && piece[at] === SPACE) at++
    this.#valueStarts = false
    if (this.#field === 'data') {
      this.#listener.data?.(piece.subarray(at, end), first)
    } else if (this.#value.length + end - at > MAX_VALUE_BYTES) {
      this.#tooLong = true
    } else {
      this.#value += piece.latin1Slice(at, end)
    }
  }

  #endLine(byte: number, at: number): void {
    if (byte === LF && this.#afterCr) {
      this.#afterCr = false
      this.#lineEnd = '\r\n'
      return
    }
    this.#afterCr = byte === CR
    if (this.#line === 'start') return this.#endEvent(at)
    // A name without a colon is a field with nothing in it.
    if (this.#line === 'name' && this.#known === FIELDS[this.#field].length) this.#startValue()
    if (this.#line === 'value') this.#endField()
    this.#line = 'start'
    this.#lineEnd = byte === CR ? '\r' : '\n'
  }

  #endField(): void {
    if (this.#field === 'data') {
      if (this.#valueStarts) this.#listener.data?.(NOTHING, true)
    } else if (this.#field === 'event') this.#name = this.#tooLong ? undefined : this.#value
    // An id with a NUL is ignored, by clients too.
    else if (!this.#value.includes('\0')) this.#id = this.#tooLong ? undefined : this.#value
  }

  #endEvent(at: number): void {
    if (!this.#begun) return
    const blankAt = this.#offset + at
    const event = { blankAt, end: blankAt + 1, id: this.#id, name: this.#name, hasData: this.#hasData, lineEnd: this.#lineEnd }
    this.#begun = this.#hasData = false
    this.#id = this.#name = undefined
    this.#listener.event(event)
  }
}

function indexOrLength(piece: Buffer, byte: number, from: number): number {
  const at = piece.indexOf(byte, from)
  return at === -1 ? piece.length : at
}
