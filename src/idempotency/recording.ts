// Takes the upstream's answer as it comes: a small one is held until it is stored, any other streams to the client at once.
import { hash } from 'node:crypto'
import type { RuleConfig } from '../config/gateway-config.ts'
import { headerValue, passedOn } from '../model/headers.ts'
import type { OutcomeTable } from '../model/outcome.ts'
import type { Problem } from '../model/problems.ts'
import type { SettledStatus } from '../model/record.ts'
import type { HeaderList } from '../model/stored-response.ts'
import { withTrace } from '../model/trace.ts'
import type { ExecutionName } from '../stores/store.ts'
import type { ClientStream } from './answer.ts'
import type { Completion } from './completion/completion.ts'
import { watchCompletion } from './completion/watch-completion.ts'
import { type Followed, follow } from './follow.ts'
import type { Gate } from './gate.ts'
import { storedHeaders } from './stored-headers.ts'
import { type RecordedAnswer, StreamedAnswer } from './streamed-answer.ts'

/** A whole answer up to this size waits for the commit as one piece; it could not be useful earlier. */
const HELD_BYTES = 65_536
const NOTHING = Buffer.alloc(0)

export interface RecordingOptions {
  readonly gate: Gate
  readonly rule: RuleConfig
  readonly name: ExecutionName
  readonly outcome: OutcomeTable
  /** What names the execution's trace, where it is kept. */
  readonly trace: string | undefined
  readonly client: ClientStream
  readonly pauseUpstream: () => void
  readonly resumeUpstream: () => void
}

/**
 * Whoever saw the clean end of a guarded answer can rely on it being stored. So the end is held until the record is
 * committed: the terminal chunk of a chunked answer, the last byte of one with a Content-Length, all of a small one.
 */
export class Recording {
  readonly #options: RecordingOptions
  #held: Buffer[] = []
  #heldBytes = 0
  #status: number | undefined
  #outcome: SettledStatus = 'unknown'
  /** The end-to-end header lines. */
  #passed: string[] = []
  #stream: StreamedAnswer | undefined
  #first: Promise<Followed> | undefined
  #completion: Completion | undefined
  /** Who wants the upstream to wait. */
  readonly #slow = { stream: false, completion: false }
  #forget: () => void = nothing

  constructor(options: RecordingOptions) {
    this.#options = options
  }

  get status(): number | undefined {
    return this.#status
  }

  get outcome(): SettledStatus {
    return this.#outcome
  }

  /** Others than the first client who follow the answer here. */
  get joined(): number {
    const { live } = this.#stream ?? {}
    return live === undefined ? 0 : live.followers - (this.#options.client.gone ? 0 : 1)
  }

  /** Calls back, once, when nobody follows any more. */
  whenDeserted(callback: () => void): void {
    if (this.#stream !== undefined) this.#stream.live.onDeserted = callback
  }

  head(status: number, headers: HeaderList): void {
    this.#status = status
    this.#outcome = this.#options.outcome(status)
    this.#passed = passedOn(headers)
    const { completeOn } = this.#options.rule
    if (completeOn !== undefined) this.#completion = watchCompletion(completeOn, status, headers)
    const declared = headerValue(this.#passed, 'content-length')
    const bodiless = status === 204 || status === 304
    const small = bodiless || (declared !== undefined && Number(declared) <= HELD_BYTES)
    // What is not a result must be settled before it is seen, as far as it is small.
    if (!small && this.#outcome === 'completed') this.#beginStream()
  }

  data(chunk: Buffer): void {
    if (this.#completion?.append(chunk) === false) {
      this.#pace('completion', true)
      this.#completion.onDrain(() => this.#pace('completion', false))
    }
    if (this.#stream !== undefined) return this.#stream.push(chunk)
    this.#held.push(chunk)
    this.#heldBytes += chunk.length
    if (this.#heldBytes > HELD_BYTES) this.#beginStream()
  }

  /** Whether an answer that ended cleanly got as far as the rule's `completeOn` says. */
  isComplete(): boolean | Promise<boolean> {
    return this.#completion === undefined || this.#completion.isComplete()
  }

  get isStreamed(): boolean {
    return this.#stream !== undefined
  }

  /** What the settling says of the whole answer. */
  close(): RecordedAnswer | Promise<RecordedAnswer> {
    return this.#stream === undefined ? this.#heldAnswer() : this.#stream.close()
  }

  /** The same without the store, which has nothing to say to the spool. */
  left(): RecordedAnswer {
    return this.#stream === undefined ? this.#heldAnswer() : this.#stream.left()
  }

  #heldAnswer(): RecordedAnswer {
    const body = this.#body()
    const bodyStored = body.length <= this.#options.rule.maxResult
    const { status, headers } = this.#storedHead()
    // In one call: a Hash object for each answer would cost more than the hashing.
    const head = { status, headers, bodyHash: hash('sha256', body, 'hex'), bodyBytes: body.length, bodyStored }
    return { response: { head, body: bodyStored ? body : NOTHING }, logged: 0 }
  }

  /** The record is committed: the client may see the end. Whether it has; tells so when it has, or never can. */
  end(): boolean | Promise<boolean> {
    if (this.#stream === undefined) {
      const { client } = this.#options
      client.head(this.#status!, this.#clientHeaders())
      client.end(this.#body())
      return true
    }
    this.#stream.finish({ kind: 'whole' })
    this.#forget()
    return this.#first!.then((followed) => followed === 'whole')
  }

  /** False: the client has seen nothing yet, and can be told what is wrong. Otherwise the only honest end is a broken one. */
  async break(problem: Problem): Promise<boolean> {
    this.#completion?.abandon()
    if (this.#stream === undefined) return false
    this.#stream.finish({ kind: 'broken', problem })
    this.#forget()
    await this.#first
    return true
  }

  #beginStream(): void {
    const { gate, name, client, rule } = this.#options
    const stored = this.#storedHead()
    const length = headerValue(this.#passed, 'content-length')
    const head = length === undefined ? stored : { ...stored, headers: [...stored.headers, 'Content-Length', length] }
    const stream = new StreamedAnswer({
      ...name,
      store: gate.store,
      head,
      stored,
      maxBytes: rule.maxResult,
      patienceMs: rule.lease,
      pauseUpstream: () => this.#pace('stream', true),
      resumeUpstream: () => this.#pace('stream', false),
    })
    this.#stream = stream
    this.#forget = gate.answers.add(name.executionId, stream.live)
    client.head(this.#status!, this.#clientHeaders())
    client.flushHead()
    const followed = { ...name, store: gate.store, live: stream.live, head }
    this.#first = follow(followed, client, { offset: 0, onProgress: (offset) => stream.firstClientAt(offset) })
    void this.#first.then(() => stream.firstClientAt(Infinity))
    for (const chunk of this.#held) stream.push(chunk)
    this.#held = []
  }

  #pace(who: 'stream' | 'completion', slow: boolean): void {
    this.#slow[who] = slow
    if (this.#slow.stream || this.#slow.completion) this.#options.pauseUpstream()
    else this.#options.resumeUpstream()
  }

  #body(): Buffer {
    return this.#held.length === 1 ? this.#held[0]! : this.#held.length === 0 ? NOTHING : Buffer.concat(this.#held)
  }

  #storedHead() {
    const { rule, trace } = this.#options
    return { status: this.#status!, headers: withTrace(storedHeaders(this.#passed, rule.replayHeaders), trace) }
  }

  #clientHeaders(): HeaderList {
    return [...this.#passed, 'Idempotency-Fingerprint', this.#options.name.fingerprint]
  }
}

function nothing(): void {}
