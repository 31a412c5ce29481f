// Sees to it that the tables are there, now or as soon as the server can be reached.
import { setTimeout as pause } from 'node:timers/promises'
import { withDeadline } from '../deadline.ts'
import type { StoreOptions } from '../store-options.ts'
import type { PostgresAddress } from './address.ts'
import { prepareTables, TablesUnusable } from './tables.ts'

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 1000

export class Preparation {
  /** Resolves once the tables are there; every verb waits for it, as long as it may. */
  readonly done: Promise<void>
  readonly #timeoutMs: number
  readonly #warn: (message: string) => void
  readonly #first: Promise<void>
  #stopped = false

  constructor(address: PostgresAddress, { timeoutMs, warn }: StoreOptions) {
    this.#timeoutMs = timeoutMs
    this.#warn = warn
    this.#first = prepareTables(address, timeoutMs)
    this.done = this.#first.catch((error: unknown) => this.#again(address, error))
  }

  /** Rejects with TablesUnusable; false: a server that is out of reach or takes long is waited for in the background. */
  async firstTry(): Promise<boolean> {
    try {
      await withDeadline('open', this.#timeoutMs, this.#first)
      return true
    } catch (error) {
      const cause: unknown = error instanceof Error ? error.cause : undefined
      if (!(cause instanceof TablesUnusable)) return false
      this.stop()
      throw cause
    }
  }

  stop(): void {
    this.#stopped = true
  }

  async #again(address: PostgresAddress, failure: unknown): Promise<void> {
    let said = ''
    let error = failure
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      // That it is out of reach the listening connection tells.
      if (error instanceof TablesUnusable && error.message !== said && !this.#stopped) this.#warn((said = error.message))
      await pause(pauseMs, undefined, { ref: false })
      // Nobody waits for it any more.
      if (this.#stopped) return
      try {
        return await prepareTables(address, this.#timeoutMs)
      } catch (next) {
        error = next
      }
    }
  }
}
