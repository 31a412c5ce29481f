// Takes back claims that nobody will use, a few at a time, however many there are.
import { setTimeout as pause } from 'node:timers/promises'
import { StoreUnavailable, type SettleRequest, type SettleResult, type Store } from '../stores/store.ts'
import { persist } from './persist.ts'

/** Half a lease apart, they find whatever is granted within a lease of the first before it can lapse. */
const LOOKS = 3
/** A store that has no time for its requests must not be asked the more the more of them it has left unanswered. */
const AT_ONCE = 32
const LIMIT_MS = 60_000

export type UnusedClaim = Omit<SettleRequest, 'to' | 'response'>

export class TakeBacks {
  readonly #store: Store
  readonly #waiting: (() => void)[] = []
  #underWay = 0

  constructor(store: Store) {
    this.#store = store
  }

  /**
   * Takes back a claim that was asked for but will not be used, since the answer to the acquire never came: the acquire
   * may have been applied, or may still be on its way. Without this it would lapse into an unknown outcome although
   * nothing was ever sent. Looks again within the lease, for an acquire that overtook the first look; and while the store
   * is away some of those that wait ask for it more often than once a lease, since it may grant them all in the moment it is back.
   */
  async takeBack(claim: UnusedClaim): Promise<void> {
    const leaseMs = claim.keepAtLeastMs
    const endsAt = performance.now() + Math.max(LIMIT_MS, 2 * leaseMs)
    for (let looks = 1; (await this.#settle(claim, endsAt)) === 'stale' && looks < LOOKS; looks++) {
      await pause(leaseMs / 2, undefined, { ref: false })
    }
  }

  /** Undefined where there was no time for it. */
  async #settle(claim: UnusedClaim, endsAt: number): Promise<SettleResult | undefined> {
    await this.#turn()
    try {
      const leftMs = endsAt - performance.now()
      if (leftMs <= 0) return undefined
      return await persist(() => this.#store.settle({ ...claim, to: 'failed' }), leftMs, claim.keepAtLeastMs / 4)
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      return undefined
    } finally {
      this.#pass()
    }
  }

  async #turn(): Promise<void> {
    if (this.#underWay < AT_ONCE) this.#underWay++
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** The next one takes the place. */
  #pass(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#underWay--
    else next()
  }
}
