// Counts duplicates in memory and adds them to their records now and then: a replay must not cost a commit.
import type { Environment } from './environment.ts'
import { inTransaction } from './environment.ts'

const FLUSH_EVERY_MS = 1000
const MOST_PENDING = 10_000

/** Informational: what a killed process had not yet written is lost, and other processes see it a second late. */
export class DuplicateCounts {
  readonly #environment: Environment
  /** A record's birth tells its generation: duplicates of an earlier one are not those of the next. */
  readonly #pending = new Map<string, { readonly createdAt: number; readonly count: number }>()
  readonly #timer: NodeJS.Timeout

  constructor(environment: Environment) {
    this.#environment = environment
    this.#timer = setInterval(() => void this.flush(), FLUSH_EVERY_MS).unref()
  }

  add(fingerprint: string, createdAt: number): void {
    this.#pending.set(fingerprint, { createdAt, count: this.pending(fingerprint, createdAt) + 1 })
    if (this.#pending.size === MOST_PENDING) void this.flush()
  }

  pending(fingerprint: string, createdAt: number): number {
    const pending = this.#pending.get(fingerprint)
    return pending?.createdAt === createdAt ? pending.count : 0
  }

  async flush(): Promise<void> {
    if (this.#pending.size === 0) return
    const { records } = this.#environment
    const write = (): void => {
      for (const [fingerprint, { createdAt, count }] of this.#pending) {
        const record = records.get(fingerprint)
        if (record?.createdAt === createdAt) inTransaction(records.put(fingerprint, { ...record, duplicates: record.duplicates + count }))
      }
      this.#pending.clear()
    }
    // A count that cannot be written is no reason to fail.
    await this.#environment.transaction(write).catch(() => undefined)
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}
