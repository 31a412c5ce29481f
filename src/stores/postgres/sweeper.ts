// Removes expired records and the pieces of dropped logs, in small batches, beside the other gateways that do the same.
import { StoreUnavailable } from '../store.ts'
import type { Statement } from './statements.ts'
import { STATEMENTS } from './statements.ts'

const EVERY_MS = 5000
const BATCH = 500

export type Sweep = (statement: Statement, most: number) => Promise<number>

export class Sweeper {
  readonly #sweep: Sweep
  readonly #warn: (message: string) => void
  readonly #timer: NodeJS.Timeout
  #running = false
  #stopped = false
  #said = ''

  /** `sweep` runs one statement and says how much it found to do. */
  constructor(sweep: Sweep, warn: (message: string) => void) {
    this.#sweep = sweep
    this.#warn = warn
    this.#timer = setInterval(() => void this.#run(), EVERY_MS).unref()
  }

  stop(): void {
    this.#stopped = true
    clearInterval(this.#timer)
  }

  async #run(): Promise<void> {
    if (this.#running) return
    this.#running = true
    try {
      for (const statement of [STATEMENTS.sweep, STATEMENTS.sweepPieces, STATEMENTS.sweepGroups]) {
        while (!this.#stopped && (await this.#sweep(statement, BATCH)) >= BATCH);
      }
      this.#said = ''
    } catch (error) {
      this.#complain(error)
    }
    this.#running = false
  }

  /** Once for each reason: what keeps it from working today does so every few seconds. */
  #complain(error: unknown): void {
    const reason = error instanceof StoreUnavailable && error.cause instanceof Error ? error.cause.message : String(error)
    if (this.#stopped || reason === this.#said) return
    this.#said = reason
    this.#warn(`expired records could not be removed: ${reason}`)
  }
}
