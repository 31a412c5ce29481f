// One pass over a JSON text. Strings go by whole slices, so that long ones cost little.
import { SAFE_DIGITS, decimal, type ExactNumber } from './decimal.ts'
import { JsonError, Members, pointerStep, type JsonObject, type JsonValue } from './json-value.ts'

/** Deeper nesting is refused, since everything that walks the value recurses. */
export const MAX_DEPTH = 512

/** Up to here a string is scanned character by character; longer ones are cheaper by indexOf and JSON.parse. */
const SHORT_STRING = 48

/** Keys up to this length are kept; shorter than the 13 characters from which V8 would keep the whole text for a slice. */
const SHORT_KEY = 12
const KNOWN_KEYS = 1024
const knownKeys: (string | undefined)[] = Array.from({ length: KNOWN_KEYS })

const QUOTE = 0x22
const BACKSLASH = 0x5c
const ZERO = 0x30
const NINE = 0x39

export class JsonReader {
  private readonly text: string
  private at: number
  private depth = 0
  /** The way to the value being read: a key or index per level. */
  private readonly steps: (string | number)[] = []

  constructor(text: string, start: number) {
    this.text = text
    this.at = start
  }

  read(): JsonValue {
    const value = this.value('')
    if (!Number.isNaN(this.next())) throw this.unexpected()
    return value
  }

  /** `step` is how the enclosing value calls this one. */
  private value(step: string | number): JsonValue {
    const code = this.next()
    switch (code) {
      case QUOTE:
        return this.string()
      case 0x7b: // {
        return this.object(step)
      case 0x5b: // [
        return this.array(step)
      case 0x74: // t
        return this.word('true', true)
      case 0x66: // f
        return this.word('false', false)
      case 0x6e: // n
        return this.word('null', null)
      default:
        if (code === 0x2d || (code >= ZERO && code <= NINE)) return this.number(code)
        throw this.unexpected()
    }
  }

  /** The next character that is no white space (RFC 8259 section 2), not taken; NaN at the end. */
  private next(): number {
    let code = this.text.charCodeAt(this.at)
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) code = this.text.charCodeAt(++this.at)
    return code
  }

  private object(step: string | number): JsonObject {
    this.enter(step)
    const object = new Members()
    if (this.next() === 0x7d) return this.leave(object)
    for (;;) {
      const keyAt = this.at
      if (this.next() !== QUOTE) throw this.unexpected()
      const key = this.key()
      // Nothing is inherited, so `in` is the same as hasOwn, and faster.
      if (key in object) throw new JsonError('a key is repeated', keyAt, this.pointer(key))
      if (this.next() !== 0x3a) throw this.unexpected()
      this.at++
      object[key] = this.value(key)
      const after = this.next()
      if (after === 0x7d) return this.leave(object)
      if (after !== 0x2c) throw this.unexpected()
      this.at++
    }
  }

  private array(step: string | number): JsonValue[] {
    this.enter(step)
    const array: JsonValue[] = []
    if (this.next() === 0x5d) return this.leave(array)
    for (;;) {
      array.push(this.value(array.length))
      const after = this.next()
      if (after === 0x5d) return this.leave(array)
      if (after !== 0x2c) throw this.unexpected()
      this.at++
    }
  }

  private enter(step: string | number): void {
    if (this.depth === MAX_DEPTH) throw new JsonError(`nested deeper than ${MAX_DEPTH}`, this.at)
    this.steps[this.depth++] = step
    this.at++
  }

  private leave<T>(value: T): T {
    this.depth--
    this.at++
    return value
  }

  /** Like a string; keys come again and again, so one copy of each serves all. */
  private key(): string {
    const start = this.at + 1
    let mixed = 0
    let at = start
    let code = this.text.charCodeAt(at)
    while (code !== QUOTE) {
      if (code === BACKSLASH || !(code >= 0x20) || at - start === SHORT_KEY) return this.string()
      mixed = (Math.imul(mixed, 31) + code) | 0
      code = this.text.charCodeAt(++at)
    }
    this.at = at + 1
    const slot = (mixed ^ (mixed >>> 10)) & (KNOWN_KEYS - 1)
    const known = knownKeys[slot]
    if (known !== undefined && known.length === at - start && this.text.startsWith(known, start)) return known
    return (knownKeys[slot] = this.text.slice(start, at))
  }

  private string(): string {
    const start = ++this.at
    const limit = start + SHORT_STRING
    for (let at = start; at < limit; at++) {
      const code = this.text.charCodeAt(at)
      if (code === QUOTE) {
        this.at = at + 1
        return this.text.slice(start, at)
      }
      // Also at the end of the text, where the code is NaN.
      if (code === BACKSLASH || !(code >= 0x20)) break
    }
    return this.longString(start)
  }

  private longString(start: number): string {
    const end = this.closingQuote(start)
    this.at = end + 1
    try {
      return JSON.parse(this.text.slice(start - 1, end + 1)) as string
    } catch {
      throw new JsonError('a string holds a control character or a bad escape', start)
    }
  }

  private closingQuote(start: number): number {
    let from = start
    for (;;) {
      const quote = this.text.indexOf('"', from)
      if (quote === -1) throw new JsonError('a string is not closed', start)
      let before = quote - 1
      while (before >= from && this.text.charCodeAt(before) === BACKSLASH) before--
      // An even number of backslashes escapes only itself.
      if ((quote - before) % 2 === 1) return quote
      from = quote + 1
    }
  }

  private number(first: number): number | ExactNumber {
    const start = this.at
    if (first === 0x2d) this.at++
    const whole = this.digits()
    if (whole > 1 && this.text.charCodeAt(this.at - whole) === ZERO) throw this.unexpected(this.at - whole + 1)
    let code = this.text.charCodeAt(this.at)
    let fraction = 0
    if (code === 0x2e) {
      this.at++
      fraction = this.digits()
      code = this.text.charCodeAt(this.at)
    }
    const plain = code !== 0x65 && code !== 0x45 // no e, no E
    if (!plain) this.exponent()
    const literal = this.text.slice(start, this.at)
    // `|| 0`: -0 is 0.
    if (plain && whole + fraction <= SAFE_DIGITS) return Number(literal) || 0
    const value = decimal(literal)
    if (value === undefined) throw new JsonError('an exponent is too long', start)
    return value
  }

  private exponent(): void {
    const sign = this.text.charCodeAt(++this.at)
    if (sign === 0x2b || sign === 0x2d) this.at++
    this.digits()
  }

  /** Takes one digit or more, and says how many. */
  private digits(): number {
    const start = this.at
    let code = this.text.charCodeAt(start)
    while (code >= ZERO && code <= NINE) code = this.text.charCodeAt(++this.at)
    if (this.at === start) throw this.unexpected()
    return this.at - start
  }

  private word<T>(word: string, value: T): T {
    if (!this.text.startsWith(word, this.at)) throw this.unexpected()
    this.at += word.length
    return value
  }

  private unexpected(at = this.at): JsonError {
    return new JsonError(at >= this.text.length ? 'the text ends too early' : 'an unexpected character', at)
  }

  private pointer(key: string): string {
    // The first step is that to the whole text.
    return [...this.steps.slice(1, this.depth), key].map(pointerStep).join('')
  }
}
