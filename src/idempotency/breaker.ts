// Stops a rule's executions where their outcomes turn unknown: closed → open → one trial → closed, or open again.
import type { BreakerConfig } from '../config/gateway-config.ts'

/** How an execution ended, as far as it tells of the upstream: `cancelled` says nothing. */
export type Sign = 'known' | 'unknown' | 'unreachable' | 'cancelled'

/** Times are milliseconds of `performance.now()`, which no change of the clock moves. */
export class Breaker {
  readonly #config: BreakerConfig
  readonly #onChange: (state: 'open' | 'closed') => void
  /** When the latest unknown outcomes came, at most as many as open it. */
  #unknown: number[] = []
  #openUntil: number | undefined
  #trialSince: number | undefined

  constructor(config: BreakerConfig, onChange: (state: 'open' | 'closed') => void) {
    this.#config = config
    this.#onChange = onChange
  }

  /** Undefined: it lets an execution through. Otherwise for how long it has been tried, or has not been yet. */
  refusal(now: number): { readonly openMs: number } | { readonly triedMs: number } | undefined {
    if (this.#openUntil === undefined) return undefined
    if (now < this.#openUntil) return { openMs: this.#openUntil - now }
    return this.#trialSince === undefined ? undefined : { triedMs: now - this.#trialSince }
  }

  /** Only where nothing refuses. True: this execution is the trial. */
  enter(now: number): boolean {
    if (this.#openUntil === undefined) return false
    this.#trialSince = now
    return true
  }

  leave(sign: Sign, { trial, now }: { trial: boolean; now: number }): void {
    if (trial) this.#endTrial(sign, now)
    else if (sign === 'unknown' && this.#openUntil === undefined) this.#count(now)
  }

  #count(now: number): void {
    const { unknown, within } = this.#config
    this.#unknown = [...this.#unknown.slice(1 - unknown), now].slice(-unknown)
    if (this.#unknown.length === unknown && now - this.#unknown[0]! <= within) this.#open(now)
  }

  #endTrial(sign: Sign, now: number): void {
    this.#trialSince = undefined
    if (sign === 'cancelled') return
    if (sign !== 'known') return this.#open(now)
    this.#openUntil = undefined
    this.#onChange('closed')
  }

  #open(now: number): void {
    this.#unknown = []
    this.#openUntil = now + this.#config.open
    this.#onChange('open')
  }
}
