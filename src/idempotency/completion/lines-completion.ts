// Whether the last line of a stream of JSON texts holds a text.
import type { PlainCompletion } from './completion.ts'
import { TextSearch } from './text-search.ts'

const LF = 0x0a

/** A last line without its line feed must be JSON as it stands, and no longer than this. */
const MAX_UNENDED_BYTES = 1024 ** 2

/** Lines of nothing but white space do not count; nor do the record separators of RFC 7464. */
export class LinesCompletion implements PlainCompletion {
  readonly #search: TextSearch
  #holds = false
  /** Of the line that has not ended: its bytes, as far as they are kept. */
  #line: Buffer[] = []
  #lineBytes = 0
  #blank = true

  constructor(text: string) {
    this.#search = new TextSearch(text)
  }

  append(piece: Buffer): void {
    let at = 0
    while (at < piece.length) {
      const found = piece.indexOf(LF, at)
      const end = found === -1 ? piece.length : found
      if (end > at) this.#take(piece.subarray(at, end))
      if (found !== -1) this.#endLine()
      at = end + 1
    }
  }

  isComplete(): boolean {
    if (this.#blank) return this.#holds
    return this.#search.found && this.#lineBytes <= MAX_UNENDED_BYTES && isJson(Buffer.concat(this.#line))
  }

  #take(part: Buffer): void {
    this.#blank &&= isBlank(part)
    this.#search.feed(part)
    this.#lineBytes += part.length
    if (this.#lineBytes <= MAX_UNENDED_BYTES) this.#line.push(part)
    else this.#line = []
  }

  #endLine(): void {
    if (!this.#blank) this.#holds = this.#search.found
    this.#search.reset()
    this.#line = []
    this.#lineBytes = 0
    this.#blank = true
  }
}

/** RFC 7464 2: before each text of a sequence. */
const RECORD_SEPARATOR = 0x1e

function isBlank(part: Buffer): boolean {
  return part.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d || byte === RECORD_SEPARATOR)
}

function isJson(line: Buffer): boolean {
  try {
    JSON.parse(line.toString().replaceAll(String.fromCharCode(RECORD_SEPARATOR), ''))
    return true
  } catch {
    return false
  }
}
