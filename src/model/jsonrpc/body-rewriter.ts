// The body of a JSON-RPC answer for another requester: piece by piece, as JSON or as an event stream.
import { AnswerRewriting } from './answer-rewriting.ts'
import { MessageScanner } from './message-scanner.ts'
import type { Requester } from './requester.ts'

/**
 * One body on its way to one requester. Whatever the pieces, the bytes that come out are the same: those that went in, but for the `id`
 * of each answer and the `progressToken` of each notification, which are the requester's own (JSON-RPC 2.0 section 5; MCP, progress).
 * Memory is bounded; what comes out lags behind by one value at most, and by nothing at the end of an event.
 *
 * A follower of a live stream makes one of these from the response's Content-Type as soon as the head is known, hands it every piece of
 * the log from the first byte on (or from the start of the event that it resumes at), and writes what comes out. Offsets in the log
 * remain those of the stored bytes. Whatever it adds of its own, such as heartbeats, it adds to what came out, between events. The bytes
 * must be free of their Content-Encoding, and Content-Length, ETag and digests of the stored head no longer hold.
 * The client of the execution itself needs none: the answer is addressed to it.
 * What comes out may share memory with what went in.
 */
export interface BodyRewriter {
  push(piece: Buffer): Buffer
  /** What was still waiting for its end. */
  end(): Buffer
}

/** Undefined where an answer of this Content-Type holds no JSON-RPC messages: it passes as it is. */
export function bodyRewriter(contentType: string | undefined, requester: Requester): BodyRewriter | undefined {
  const type = contentType?.split(';')[0]!.trim().toLowerCase() ?? ''
  if (type === 'text/event-stream') return new EventStreamRewriter(requester)
  return /^application\/(?:.*\+)?(?:json|json-rpc|x-ndjson|ndjson|jsonl)$/.test(type) ? new JsonRewriter(requester) : undefined
}

/** One message, a list of them, or one after the other. */
class JsonRewriter implements BodyRewriter {
  readonly #rewriting: AnswerRewriting
  readonly #scanner: MessageScanner

  constructor(requester: Requester) {
    this.#rewriting = new AnswerRewriting(requester)
    this.#scanner = new MessageScanner(this.#rewriting)
  }

  push(piece: Buffer): Buffer {
    this.#rewriting.begin(piece)
    this.#scanner.scan(piece)
    return this.#rewriting.finish()
  }

  end(): Buffer {
    this.#rewriting.settle()
    return this.push(NOTHING)
  }
}

const NOTHING = Buffer.alloc(0)
const CR = 0x0d
const LF = 0x0a
const DATA = Buffer.from('data:')
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

/** The data of each event is a message of its own, however many lines it has (WHATWG HTML, 9.2.6). */
class EventStreamRewriter implements BodyRewriter {
  readonly #rewriting: AnswerRewriting
  readonly #scanner: MessageScanner
  #line: 'start' | 'data' | 'other' = 'start'
  /** At the start of a line: how many bytes of `data:` have come. */
  #known = 0
  /** How many bytes of a byte order mark may have come; beyond the stream's start none can. */
  #mark = 0
  #afterCr = false

  constructor(requester: Requester) {
    this.#rewriting = new AnswerRewriting(requester)
    this.#scanner = new MessageScanner(this.#rewriting)
  }

  push(piece: Buffer): Buffer {
    this.#rewriting.begin(piece)
    let [at, cr, lf] = [0, -1, -1]
    while (at < piece.length) {
      // Each is looked for again only once it has been passed.
      if (cr < at) cr = next(piece, CR, at)
      if (lf < at) lf = next(piece, LF, at)
      const end = Math.min(cr, lf)
      this.#take(piece, at, end)
      if (end < piece.length) this.#endLine(piece[end]!, end)
      at = end + 1
    }
    return this.#rewriting.finish()
  }

  end(): Buffer {
    this.#rewriting.settle()
    this.#rewriting.begin(NOTHING)
    return this.#rewriting.finish()
  }

  /** A part of a line, or all of it. */
  #take(piece: Buffer, start: number, end: number): void {
    if (start === end) return
    this.#afterCr = false
    let at = start
    while (at < end && this.#line === 'start') this.#begin(piece[at++]!)
    // The blank that may follow the colon is none of the data, and white space to JSON.
    if (this.#line === 'data') this.#scanner.scan(piece, at, end)
  }

  #begin(byte: number): void {
    if (this.#mark < BYTE_ORDER_MARK.length && byte === BYTE_ORDER_MARK[this.#mark]) {
      this.#mark++
      return
    }
    this.#mark = BYTE_ORDER_MARK.length
    if (byte !== DATA[this.#known]) this.#line = 'other'
    else if (++this.#known === DATA.length) this.#line = 'data'
  }

  #endLine(byte: number, at: number): void {
    const pair = byte === LF && this.#afterCr
    this.#afterCr = byte === CR
    if (pair) return
    if (this.#line === 'data') this.#scanner.breakWord(at)
    if (this.#line === 'start' && this.#known === 0) this.#endEvent()
    this.#line = 'start'
    this.#known = 0
    this.#mark = BYTE_ORDER_MARK.length
  }

  #endEvent(): void {
    this.#scanner.reset()
    this.#rewriting.settle()
  }
}

/** Where the byte stands next, or the end of the piece. */
function next(piece: Buffer, byte: number, from: number): number {
  const at = piece.indexOf(byte, from)
  return at === -1 ? piece.length : at
}
