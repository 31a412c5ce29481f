// Whether the last event of an event stream holds a text in its data, or is named so.
import { EventStreamSplitter } from '../../model/event-stream.ts'
import type { PlainCompletion } from './completion.ts'
import { TextSearch } from './text-search.ts'

/**
 * The last event is the last one with data; one that has only the name looked for counts too. It may lack its blank line, as some
 * upstreams leave the last one out, but not the end of its last line: a stream that breaks off within a line is not complete.
 */
export class EventsCompletion implements PlainCompletion {
  readonly #name: string
  readonly #inData: TextSearch
  readonly #splitter: EventStreamSplitter
  /** Of the last event that has ended. */
  #holds = false

  constructor(text: string) {
    this.#name = Buffer.from(text).toString('latin1')
    this.#inData = new TextSearch(text)
    this.#splitter = new EventStreamSplitter({
      event: (event) => this.#endEvent(event.name, event.hasData),
      data: (piece, first) => this.#takeData(piece, first),
    })
  }

  append(piece: Buffer): void {
    this.#splitter.feed(piece)
  }

  isComplete(): boolean {
    const { betweenLines, name, hasData } = this.#splitter
    if (!betweenLines) return false
    this.#endEvent(name, hasData)
    return this.#holds
  }

  #takeData(piece: Buffer, first: boolean): void {
    if (first) this.#inData.cut()
    this.#inData.feed(piece)
  }

  #endEvent(name: string | undefined, hasData: boolean): void {
    if (hasData) this.#holds = name === this.#name || this.#inData.found
    else if (name === this.#name) this.#holds = true
    this.#inData.reset()
  }
}
