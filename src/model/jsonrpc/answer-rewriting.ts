// What becomes of the bytes of an answer: all pass as they are, but for the values that name the request.
import type { MessageListener, Place } from './message-scanner.ts'
import type { Requester } from './requester.ts'

/** An `id` waits for what tells whether its message is an answer; over this nothing waits, and it stays as it is. */
const MAX_HELD_BYTES = 65_536

/** Names news that nobody asked for: a requester without a progress token must not take them for news of another request of its own. */
const NO_TOKEN = '"oncegate:not-asked-for"'

/**
 * Of answers (`result` or `error`) the `id` is replaced. Those of requests that the server makes of its client (they have a `method`) are
 * the server's own. What replaces a value goes out when its end is seen, never half of it.
 */
export class AnswerRewriting implements MessageListener {
  readonly #id: Buffer | undefined
  readonly #progressToken: Buffer
  #out: Buffer[] = []
  #piece: Buffer = NOTHING
  /** Up to here the piece has been dealt with. */
  #from = 0
  #message: 'open' | 'answer' | 'other' = 'open'
  /** `value`: in a value that is, or may be, replaced; `after`: behind one that may be. */
  #mode: 'pass' | 'value' | 'after' = 'pass'
  #replacement: Buffer = NOTHING
  #held: Buffer[] = []
  /** How many of the held pieces are the value. */
  #heldValue = 0
  #heldBytes = 0

  constructor(requester: Requester) {
    this.#id = requester.id === undefined ? undefined : Buffer.from(requester.id)
    this.#progressToken = Buffer.from(requester.progressToken ?? NO_TOKEN)
  }

  begin(piece: Buffer): void {
    this.#piece = piece
    this.#from = 0
  }

  /** What can go out of the pieces so far. */
  finish(): Buffer {
    this.#advance(this.#piece.length)
    const out = this.#out
    this.#out = []
    return out.length === 1 ? out[0]! : Buffer.concat(out)
  }

  /** Nothing more is to come of this message: what still waits stays as it was. */
  settle(): void {
    if (this.#mode !== 'pass') this.#release(false)
    this.#message = 'open'
  }

  member(name: string): void {
    if (this.#message !== 'open') return
    if (name === 'result' || name === 'error') this.#message = 'answer'
    else if (name === 'method' || name === 'params') this.#message = 'other'
    else return
    if (this.#mode === 'after') this.#release(this.#message === 'answer')
  }

  valueStart(place: Place, at: number): void {
    const replacement = place === 'id' ? this.#id : place === 'progressToken' ? this.#progressToken : undefined
    if (replacement === undefined || (place === 'id' && this.#message === 'other')) return
    this.#advance(at)
    // An id that comes twice: the last one counts.
    if (this.#mode !== 'pass') this.#release(false)
    this.#mode = 'value'
    this.#replacement = replacement
  }

  valueEnd(at: number): void {
    if (this.#mode !== 'value') return
    this.#advance(at)
    // It may have been too long to be held.
    if (this.#mode !== 'value') return
    this.#heldValue = this.#held.length
    this.#mode = 'after'
    if (this.#message !== 'open') this.#release(true)
  }

  messageEnd(at: number): void {
    this.#advance(at)
    this.settle()
  }

  #advance(to: number): void {
    if (to <= this.#from) return
    const bytes = this.#piece.subarray(this.#from, to)
    this.#from = to
    if (this.#mode === 'pass') {
      this.#out.push(bytes)
      return
    }
    this.#held.push(bytes)
    this.#heldBytes += bytes.length
    if (this.#heldBytes > MAX_HELD_BYTES) this.#release(false)
  }

  /** What was held goes out, with the replacement in the value's place or as it came. */
  #release(replaced: boolean): void {
    if (replaced) this.#out.push(this.#replacement, ...this.#held.slice(this.#heldValue))
    else this.#out.push(...this.#held)
    this.#held = []
    this.#heldBytes = 0
    this.#mode = 'pass'
  }
}

const NOTHING: Buffer = Buffer.alloc(0)
