// Finds, in the bytes of an event stream, where the event ends that a client saw last.
import { eventOrdinal } from '../model/event-id.ts'
import { EventStreamSplitter, type StreamEvent } from '../model/event-stream.ts'

export interface ResumePoint {
  /** Of the first byte that the client has not seen. */
  readonly offset: number
  /** How many events with data come before it. */
  readonly events: number
}

/**
 * Looks for the event that `Last-Event-ID` names, in the bytes of this execution's answer from the first on. An id is the upstream's own,
 * compared whole, or one that was added, `<execution>-<n>`: the n-th event with data, which then has none of its own. So an id of another
 * execution finds nothing, unless this very stream holds it. Where an id comes more than once, the first counts: nothing is left out.
 * Reads no further than it must; where the answer is still being made, the caller's `bytes` decides how long to wait for more.
 */
export async function findResumePoint(
  bytes: AsyncIterable<Buffer>,
  lastEventId: string,
  executionId: string,
): Promise<ResumePoint | undefined> {
  const search = new Search(lastEventId, executionId)
  if (search.ordinal === 0) return { offset: 0, events: 0 }
  if (search.id === '') return undefined
  for await (const piece of bytes) {
    const found = search.feed(piece)
    if (found !== undefined) return found
  }
  return search.found
}

class Search {
  /** White space around a header's value is lost on its way (RFC 9110 5.5). */
  readonly id: string
  readonly ordinal: number | undefined
  readonly #splitter = new EventStreamSplitter({ event: (event) => this.#look(event) })
  #events = 0
  #found: { readonly end: number; readonly events: number } | undefined
  #offset = 0

  constructor(lastEventId: string, executionId: string) {
    this.id = trimmed(lastEventId)
    this.ordinal = eventOrdinal(this.id, executionId)
  }

  /** What was found, although no byte behind it could be read. */
  get found(): ResumePoint | undefined {
    return this.#found && { offset: this.#found.end, events: this.#found.events }
  }

  feed(piece: Buffer): ResumePoint | undefined {
    if (this.#found === undefined) this.#splitter.feed(piece)
    const start = this.#offset
    this.#offset += piece.length
    if (this.#found === undefined) return undefined
    const { end, events } = this.#found
    const last = end - 1 < start ? CR : piece[end - 1 - start]
    if (last !== CR) return { offset: end, events }
    if (end === this.#offset) return undefined
    return { offset: piece[end - start] === LF ? end + 1 : end, events }
  }

  #look({ id, end, hasData }: StreamEvent): void {
    if (this.#found !== undefined) return
    if (hasData) this.#events++
    const named = id === undefined ? hasData && this.#events === this.ordinal : trimmed(id) === this.id
    if (named) this.#found = { end, events: this.#events }
  }
}

const CR = 0x0d
const LF = 0x0a

function trimmed(value: string): string {
  return value.replaceAll(/^[\t ]+|[\t ]+$/g, '')
}
