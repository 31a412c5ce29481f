// What the gateway puts into an event stream on its way to one client: ids, signs of life, and why it breaks off.
import type { RuleConfig } from '../config/gateway-config.ts'
import { eventId } from '../model/event-id.ts'
import { isPlainEventStream, withoutHeaders } from '../model/headers.ts'
import type { Problem } from '../model/problems.ts'
import type { HeaderList } from '../model/stored-response.ts'
import type { ClientStream } from '../idempotency/answer.ts'
import { EventStreamInsertions } from './event-stream-insertions.ts'

export type StreamedRule = Pick<RuleConfig, 'streamIds' | 'streamError' | 'heartbeat' | 'protocol'>
export type StreamIds = NonNullable<EventStreamSettings['ids']>

export interface EventStreamSettings {
  /** Adds an id line to each event with data that has none. */
  readonly ids?: {
    readonly fingerprint: string
    readonly executionId: string
    /** How many events with data come before the first byte: 0, or those before the point where a client resumes. */
    readonly before: number
    /** Begins with an id for the stream's start and `retry:`, so that a client comes back even if it has seen no event. */
    readonly prime: boolean
    /** As an event of its own, with empty data, as MCP has it; else as the first lines of the first event. */
    readonly primingEvent?: boolean
  }
  /** Milliseconds of silence after which a comment is sent. */
  readonly heartbeat?: number
  /** The data of the error event by which a client learns why its stream breaks off. Without it, there is none. */
  readonly errorData?: (problem: Problem) => string
}

/** What a rule asks for, of the stream of this execution from there on; undefined where it asks for nothing, and nothing stands in the way. */
export function eventStreamSettings(
  rule: StreamedRule,
  ids: Omit<StreamIds, 'primingEvent'>,
  errorData: (problem: Problem) => string,
): EventStreamSettings | undefined {
  const { streamIds, streamError, heartbeat, protocol } = rule
  if (!streamIds && streamError === 'reset' && heartbeat === undefined) return undefined
  return {
    ...(streamIds && { ids: protocol === 'jsonrpc' ? { ...ids, primingEvent: true } : ids }),
    ...(streamError === 'event' && { errorData }),
    ...(heartbeat !== undefined && { heartbeat }),
  }
}

/** How soon a client that lost its stream comes back, in milliseconds. */
const RETRY_MS = 1000

/** One line end: with two, it would be an empty event to some clients. */
const HEARTBEAT = Buffer.from(': hb\n')

/** They tell of the bytes as they were before anything was put in. */
const OF_OTHER_BYTES = new Set(['content-length', 'etag', 'digest', 'content-digest', 'repr-digest'])

/**
 * Stands before another ClientStream, for rules that ask for any of this. Answers of another type, or with a Content-Encoding, pass
 * untouched. The bytes must begin at the start of an event.
 */
export class EventStreamClient implements ClientStream {
  readonly #client: ClientStream
  readonly #settings: EventStreamSettings
  /** Only while there is something to put into. */
  #stream: EventStreamInsertions | undefined
  #heartbeat: NodeJS.Timeout | undefined
  #drained = true

  constructor(client: ClientStream, settings: EventStreamSettings) {
    this.#client = client
    this.#settings = settings
  }

  get gone(): boolean {
    return this.#client.gone
  }

  onGone(listener: () => void): void {
    this.#client.onGone(listener)
  }

  onDrain(listener: () => void): void {
    this.#client.onDrain(listener)
  }

  head(status: number, headers: HeaderList): void {
    if (status === 204 || status === 304 || !isPlainEventStream(headers)) return this.#client.head(status, headers)
    const { ids, heartbeat } = this.#settings
    this.#stream = new EventStreamInsertions(ids && ((n) => eventId(ids, ids.before + n)))
    if (ids?.prime === true) this.#stream.insert(priming(ids))
    this.#client.head(status, withoutHeaders(headers, OF_OTHER_BYTES))
    if (heartbeat === undefined) return
    this.#heartbeat = setInterval(() => this.#beat(), heartbeat).unref()
    this.#client.onGone(() => this.#stop())
  }

  flushHead(): void {
    const first = this.#stream?.take()
    if (first === undefined || first.length === 0) this.#client.flushHead()
    else this.#send(first)
  }

  write(chunk: Buffer): boolean {
    if (this.#stream === undefined) return this.#client.write(chunk)
    this.#stream.feed(chunk)
    return this.#send(this.#stream.take())
  }

  end(chunk?: Buffer): void {
    this.#stop()
    if (this.#stream === undefined) return this.#client.end(chunk)
    if (chunk !== undefined) this.#stream.feed(chunk)
    const last = this.#stream.takeLast()
    this.#client.end(last.length === 0 ? undefined : last)
  }

  /** Within an event nothing can be said: it would become a part of it. */
  break(problem?: Problem): void {
    this.#stop()
    const { errorData } = this.#settings
    if (problem !== undefined && errorData !== undefined && this.#stream?.betweenEvents === true) {
      this.#stream.insert(errorEvent(errorData(problem)))
      this.#client.write(this.#stream.take())
    }
    this.#client.break(problem)
  }

  #send(bytes: Buffer): boolean {
    this.#heartbeat?.refresh()
    // Nothing to be sent yet: a part of a byte order mark.
    if (bytes.length === 0) return this.#drained
    const ready = this.#client.write(bytes)
    if (!ready && this.#drained) {
      this.#drained = false
      this.#client.onDrain(() => (this.#drained = true))
    }
    return ready
  }

  #beat(): void {
    // What a slow client has not read yet is life enough.
    if (this.#stream?.betweenEvents !== true || !this.#drained) return
    this.#stream.insert(HEARTBEAT)
    this.#send(this.#stream.take())
  }

  #stop(): void {
    clearInterval(this.#heartbeat)
    this.#heartbeat = undefined
  }
}

/**
 * Some clients hand every blank line to the application as an event; others forget the id of an event without a data line. Clients of
 * JSON-RPC streams keep the id of one with empty data and hand nothing on (MCP 2025-11-25, from SEP-1699).
 */
function priming(ids: StreamIds): Buffer {
  const lines = `id: ${eventId(ids, 0)}\nretry: ${RETRY_MS}\n`
  return Buffer.from(ids.primingEvent === true ? `${lines}data:\n\n` : lines)
}

/** A data line for each line of the text. */
function errorEvent(data: string): Buffer {
  const lines = data.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`)
  return Buffer.from(`event: error\n${lines.join('')}\n`)
}
