// Walks over JSON-RPC messages byte by byte, in whatever pieces they come, and tells where the members are that name a request.

/** `id` of a message, `params.progressToken` of a notification, `params._meta.progressToken` of a request. */
export type Place = 'id' | 'progressToken' | 'ownProgressToken'

/** What the scanner tells, in the order of the bytes. Indices are of the piece being scanned. */
export interface MessageListener {
  /** A member of the message itself: its name has been read, its value comes. */
  member(name: string): void
  /** A text, a number, true, false or null begins there; objects and lists are not told of. */
  valueStart(place: Place, at: number): void
  /** The value told of last has ended before there, maybe in an earlier piece. */
  valueEnd(at: number): void
  messageEnd(at: number): void
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OBJECT = 0x7b
const OBJECT_END = 0x7d
const LIST = 0x5b
const LIST_END = 0x5d

/** Levels whose members have names to be remembered: a list of messages, the message, its params, their _meta. */
const NAMED_LEVELS = 4

/** No name that is looked for is longer, however it is escaped. */
const LONGEST_NAME = 128

/**
 * Memory does not grow with what is scanned, and nothing is refused: text that is no JSON tells of nothing, or of what looks like it.
 * Several messages may follow each other or stand in a list (JSON-RPC 2.0 section 6).
 */
export class MessageScanner {
  readonly #listener: MessageListener
  /** How many objects and lists are open. */
  #depth = 0
  /** How many of them are a list around the messages: 0 or 1. */
  #outer = 0
  /** By level: whether it is an object, and the name of the member it is at. */
  readonly #isObject: boolean[] = []
  readonly #names: string[] = []
  #nameComes = false
  #state: 'between' | 'text' | 'name' | 'word' = 'between'
  #escaped = false
  #name = ''
  /** Between a valueStart and its valueEnd. */
  #telling = false

  constructor(listener: MessageListener) {
    this.#listener = listener
  }

  scan(bytes: Buffer, start = 0, end = bytes.length): void {
    let at = start
    while (at < end) {
      if (this.#state === 'text' || this.#state === 'name') at = this.#inQuotes(bytes, at, end)
      else this.#take(bytes[at]!, at++)
    }
  }

  /** What is not quoted ends here, as it does at white space. */
  breakWord(at: number): void {
    if (this.#state !== 'word') return
    this.#state = 'between'
    this.#endValue(at)
  }

  /** What comes next has nothing to do with what came. */
  reset(): void {
    this.#depth = this.#outer = 0
    this.#state = 'between'
    this.#nameComes = this.#escaped = this.#telling = false
  }

  #inQuotes(bytes: Buffer, start: number, end: number): number {
    const at = this.#closingQuote(bytes, start, end)
    if (this.#state === 'name' && this.#name.length <= LONGEST_NAME) this.#name += bytes.latin1Slice(start, at)
    if (at === end) return end
    if (this.#state === 'name') this.#endName()
    else this.#endValue(at + 1)
    this.#state = 'between'
    return at + 1
  }

  /** Where the text ends, or `end`. Most of a large answer is text, so the search is left to the runtime's own. */
  #closingQuote(bytes: Buffer, start: number, end: number): number {
    let from = this.#escaped ? start + 1 : start
    for (;;) {
      const found = bytes.indexOf(QUOTE, from)
      const quote = found === -1 || found > end ? end : found
      let before = quote - 1
      while (before >= from && bytes[before] === BACKSLASH) before--
      // An even number of backslashes escapes only itself.
      this.#escaped = (quote - before) % 2 === 0
      if (quote === end || !this.#escaped) return quote
      this.#escaped = false
      from = quote + 1
    }
  }

  #take(code: number, at: number): void {
    switch (code) {
      case QUOTE:
        this.breakWord(at)
        return this.#openQuotes(at)
      case OBJECT:
      case LIST:
        this.breakWord(at)
        return this.#open(code === OBJECT)
      case OBJECT_END:
      case LIST_END:
        this.breakWord(at)
        return this.#close(at + 1)
      case 0x2c: // ,
        this.breakWord(at)
        this.#nameComes = this.#depth <= NAMED_LEVELS && this.#isObject[this.#depth] === true
        return
      case 0x3a: // :
      case 0x20:
      case 0x09:
      case 0x0a:
      case 0x0d:
        return this.breakWord(at)
      default:
        if (this.#state === 'word') return
        this.#state = 'word'
        this.#startValue(at)
    }
  }

  #openQuotes(at: number): void {
    this.#state = this.#nameComes ? 'name' : 'text'
    this.#name = ''
    if (!this.#nameComes) this.#startValue(at)
  }

  #endName(): void {
    this.#nameComes = false
    const name = unescaped(this.#name)
    this.#names[this.#depth] = name
    if (this.#depth === this.#outer + 1) this.#listener.member(name)
  }

  #open(isObject: boolean): void {
    if (this.#depth === 0) this.#outer = isObject ? 0 : 1
    this.#depth++
    this.#nameComes = isObject && this.#depth <= NAMED_LEVELS
    if (this.#depth > NAMED_LEVELS) return
    this.#isObject[this.#depth] = isObject
    this.#names[this.#depth] = ''
  }

  #close(at: number): void {
    this.#nameComes = false
    if (this.#depth === 0) return
    this.#depth--
    if (this.#depth === this.#outer) this.#listener.messageEnd(at)
  }

  #startValue(at: number): void {
    const place = this.#place()
    if (place === undefined) return
    this.#telling = true
    this.#listener.valueStart(place, at)
  }

  #endValue(at: number): void {
    if (!this.#telling) return
    this.#telling = false
    this.#listener.valueEnd(at)
  }

  #place(): Place | undefined {
    const message = this.#outer + 1
    const name = this.#names[this.#depth]
    if (this.#depth === message) return name === 'id' ? 'id' : undefined
    if (name !== 'progressToken' || this.#names[message] !== 'params') return undefined
    if (this.#depth === message + 1) return 'progressToken'
    return this.#depth === message + 2 && this.#names[message + 1] === '_meta' ? 'ownProgressToken' : undefined
  }
}

function unescaped(name: string): string {
  if (!name.includes('\\') || name.length > LONGEST_NAME) return name
  try {
    return JSON.parse(`"${name}"`) as string
  } catch {
    return name
  }
}
