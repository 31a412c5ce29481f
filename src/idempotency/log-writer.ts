// Writes one streamed answer into the store's log, behind the stream: one append under way at a time, the next carrying all
// that has come since.
import type { AnswerHead } from '../model/stored-response.ts'
import { type AppendRequest, type ExecutionName, type SettleResult, type Store, StoreUnavailable } from '../stores/store.ts'
import { persist } from './persist.ts'

/** An answer that is whole by then is stored in one piece with its end. */
const FIRST_AFTER_MS = 10
/** From one append to the next: what followers at other gateways are late, against calls to the store. */
const EVERY_MS = 20

export interface LogWriterOptions extends ExecutionName {
  readonly head: AnswerHead
  /** How long a store that is out of reach is asked again and again, before it is given a rest. */
  readonly patienceMs: number
  /** Told after each step, also of a loss. */
  readonly onProgress: () => void
}

export class LogWriter {
  readonly #store: Store
  readonly #options: LogWriterOptions
  #waiting: Buffer[] = []
  /** The first of those waiting, in one chunk: sent, but not acknowledged. Only the very same may be sent again. */
  #unsure: { readonly chunk: Buffer; readonly pieces: number } | undefined
  #logged = 0
  #begun = false
  #lost = false
  #closed = false
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> | undefined

  constructor(store: Store, options: LogWriterOptions) {
    this.#store = store
    this.#options = options
    this.#schedule(FIRST_AFTER_MS)
  }

  /** Bytes that the store has acknowledged. */
  get logged(): number {
    return this.#logged
  }

  /** The log has a hole, or belongs to another execution by now: nothing more is written. */
  get lost(): boolean {
    return this.#lost
  }

  push(bytes: Buffer): void {
    if (this.#lost) return
    this.#waiting.push(bytes)
    this.#schedule(EVERY_MS)
  }

  /**
   * No more is appended. What the settling has to carry, in one step with the end: all that is not logged. Rejects with StoreUnavailable
   * where it is not known whether the last piece was; it may be called again.
   */
  async close(): Promise<{ logged: number; rest: Buffer }> {
    this.stop()
    await this.#writing?.catch(ignoreOutage)
    if (this.#unsure !== undefined) await this.#begin()
    return { logged: this.#logged, rest: Buffer.concat(this.#waiting) }
  }

  /**
   * What `close` would tell, as far as it is known now: where it is not known whether the last piece is logged, that very piece, which
   * counts as logged. Undefined where the log is lost.
   */
  left(): { logged: number; rest: Buffer; unsure: AppendRequest | undefined } | undefined {
    this.stop()
    if (this.#lost) return undefined
    const { chunk, pieces } = this.#unsure ?? { chunk: undefined, pieces: 0 }
    return {
      logged: this.#logged + (chunk?.length ?? 0),
      rest: Buffer.concat(this.#waiting.slice(pieces)),
      unsure: chunk && this.#request(chunk, false),
    }
  }

  /** No further append is begun. */
  stop(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  /** The answer is over its limit: the log is dropped. */
  async abandon(): Promise<void> {
    this.stop()
    await this.#writing?.catch(ignoreOutage)
    const begun = this.#begun || this.#unsure !== undefined
    const lost = this.#lost
    this.#lose()
    if (begun && !lost) await this.#append(Buffer.alloc(0), true).catch(ignoreOutage)
  }

  #schedule(delayMs: number): void {
    if (this.#timer !== undefined || this.#writing !== undefined || this.#closed || this.#lost) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      void this.#begin()
        .catch(ignoreOutage)
        .finally(() => {
          if (this.#waiting.length > 0) this.#schedule(EVERY_MS)
          this.#options.onProgress()
        })
    }, delayMs)
  }

  /** One at a time: whoever comes meanwhile awaits the same. */
  #begin(): Promise<void> {
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined
    })
    return this.#writing
  }

  async #write(): Promise<void> {
    this.#unsure ??= { chunk: Buffer.concat(this.#waiting), pieces: this.#waiting.length }
    const { chunk, pieces } = this.#unsure
    if ((await this.#append(chunk, false)) === 'stale') return this.#lose()
    this.#unsure = undefined
    this.#begun = true
    this.#waiting = this.#waiting.slice(pieces)
    this.#logged += chunk.length
  }

  #append(chunk: Buffer, overflow: boolean): Promise<SettleResult> {
    const request = this.#request(chunk, overflow)
    return persist(() => this.#store.append(request), this.#options.patienceMs)
  }

  #request(chunk: Buffer, overflow: boolean): AppendRequest {
    const { fingerprint, executionId, head } = this.#options
    return {
      fingerprint,
      executionId,
      offset: this.#logged,
      chunk,
      ...(this.#begun ? {} : { head }),
      ...(overflow && { overflow }),
    }
  }

  #lose(): void {
    this.#lost = true
    this.#waiting = []
    this.#unsure = undefined
  }
}

function ignoreOutage(error: unknown): void {
  if (!(error instanceof StoreUnavailable)) throw error
}
