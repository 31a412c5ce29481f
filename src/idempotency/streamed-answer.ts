// One answer on its way from the upstream: to everybody who follows it, and into the store's log.
import { createHash } from 'node:crypto'
import type { AnswerHead, StoredResponse } from '../model/stored-response.ts'
import type { AppendRequest, ExecutionName, Store } from '../stores/store.ts'
import { type AnswerEnd, LiveAnswer } from './live-answer.ts'
import { LogWriter } from './log-writer.ts'

/** So much may be in memory that the store, or beyond `maxResult` the first client, has not got: then the upstream waits. */
const BACKLOG_BYTES = 1_048_576

export interface StreamedAnswerOptions extends ExecutionName {
  readonly store: Store
  /** As followers get it, `Content-Length` included. */
  readonly head: AnswerHead
  /** As it is stored. */
  readonly stored: AnswerHead
  readonly maxBytes: number
  readonly patienceMs: number
  readonly pauseUpstream: () => void
  readonly resumeUpstream: () => void
}

export interface RecordedAnswer {
  readonly response: StoredResponse
  /** Bytes of the body that are in the store's log already. */
  readonly logged: number
  /** A piece that was sent to the log, and nobody knows whether it is there: it counts as logged. */
  readonly unsure?: AppendRequest | undefined
}

export class StreamedAnswer {
  readonly live: LiveAnswer
  readonly #options: StreamedAnswerOptions
  readonly #writer: LogWriter
  readonly #hash = createHash('sha256')
  #bodyHash: string | undefined
  #overflow: Promise<void> | undefined
  #paused = false
  /** How far the first client has got; Infinity when there is none. */
  #firstAt = 0

  constructor(options: StreamedAnswerOptions) {
    this.#options = options
    this.live = new LiveAnswer(options.head)
    const { store, fingerprint, executionId, head, patienceMs } = options
    this.#writer = new LogWriter(store, { fingerprint, executionId, head, patienceMs, onProgress: () => this.#pace() })
  }

  push(bytes: Buffer): void {
    this.#hash.update(bytes)
    this.live.push(bytes)
    if (this.#overflow === undefined && this.live.length <= this.#options.maxBytes) this.#writer.push(bytes)
    else this.#drop()
    this.#pace()
  }

  #drop(): void {
    this.live.kept = false
    this.#overflow ??= this.#writer.abandon()
  }

  /** The first client has got so far; Infinity: it is gone. */
  firstClientAt(offset: number): void {
    this.#firstAt = offset
    this.#pace()
  }

  /** The upstream's end has come: what the settling says of the answer. Rejects while the store is away; it may be called again. */
  async close(): Promise<RecordedAnswer> {
    await this.#overflow
    const written = await this.#writer.close()
    return this.#whole(this.#writer.lost ? undefined : written)
  }

  /** The same as far as it is known without the store, for a settling that is put off. */
  left(): RecordedAnswer {
    const left = this.#writer.left()
    const whole = this.#whole(left)
    return whole.response.head.bodyStored ? { ...whole, unsure: left?.unsure } : whole
  }

  #whole(written: { logged: number; rest: Buffer } | undefined): RecordedAnswer {
    const { stored, maxBytes } = this.#options
    const bodyStored = written !== undefined && this.live.length <= maxBytes
    const head = { ...stored, bodyHash: (this.#bodyHash ??= this.#hash.digest('hex')), bodyBytes: this.live.length, bodyStored }
    return bodyStored
      ? { response: { head, body: written.rest }, logged: written.logged }
      : { response: { head, body: Buffer.alloc(0) }, logged: 0 }
  }

  /** The record is settled: everybody may see the end. */
  finish(end: AnswerEnd): void {
    this.#writer.stop()
    this.live.finish(end)
  }

  /**
   * A slow store holds the upstream back, and so does a slow first client of an answer that is not kept: it shall have it
   * whole. Nobody else's pace matters.
   */
  #pace(): void {
    if (this.#writer.lost) this.live.kept = false
    const { kept } = this.live
    const floor = kept ? this.#writer.logged : Math.min(this.#firstAt, this.live.length)
    this.live.raiseFloor(floor)
    const paused = this.live.length - floor > BACKLOG_BYTES
    if (paused === this.#paused) return
    this.#paused = paused
    if (paused) this.#options.pauseUpstream()
    else this.#options.resumeUpstream()
  }
}
