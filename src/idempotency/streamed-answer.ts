// One answer on its way from the upstream: to everybody who follows it, and into the store's log.
import { createHash } from 'node:crypto'
import type { AnswerHead, StoredResponse } from '../model/stored-response.ts'
import type { ExecutionName, Store } from '../stores/store.ts'
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
  async close(): Promise<{ response: StoredResponse; logged: number }> {
    const { stored, maxBytes } = this.#options
    await this.#overflow
    const { logged, rest } = await this.#writer.close()
    const bodyStored = this.live.length <= maxBytes && !this.#writer.lost
    const head = { ...stored, bodyHash: (this.#bodyHash ??= this.#hash.digest('hex')), bodyBytes: this.live.length, bodyStored }
    return { response: { head, body: bodyStored ? rest : Buffer.alloc(0) }, logged: bodyStored ? logged : 0 }
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
