// Which executions the upstream is being asked about, and may be asked about again: once for all who want to know.
/** `settled`: the record says what came of it. Otherwise nobody knows yet, and the upstream is asked again after that time. */
export type Found = { readonly kind: 'settled' } | { readonly kind: 'unclear'; readonly askAgainMs: number }

const SETTLED: Found = { kind: 'settled' }
const LONGEST_BACKOFF = 64
const REMEMBERED = 10_000

/**
 * Remembers what it has asked, so that the upstream is never asked more often than the rule says: while there are more
 * unclear outcomes than it can remember, the further ones wait until it may forget one. By execution, the oldest first.
 */
export class Inquiries {
  readonly #asking = new Map<string, Promise<Found>>()
  readonly #unclear = new Map<string, { readonly times: number; readonly notBefore: number }>()
  /** Whoever read the record before it was settled still comes here. */
  readonly #settled = new Set<string>()

  /**
   * `begin` asks, and tells whether the record now says what came of it; undefined: it cannot. `backoff`: milliseconds after the
   * first unclear answer, doubling with each.
   */
  ask(executionId: string, backoff: number, begin: () => Promise<boolean> | undefined): Promise<Found> {
    const asking = this.#asking.get(executionId)
    if (asking !== undefined) return asking
    return this.#settled.has(executionId) ? Promise.resolve(SETTLED) : this.#askNow(executionId, backoff, begin)
  }

  #askNow(executionId: string, backoff: number, begin: () => Promise<boolean> | undefined): Promise<Found> {
    const known = this.#unclear.get(executionId)
    const earlyMs = (known?.notBefore ?? 0) - performance.now()
    if (known !== undefined && earlyMs > 0) return unclear(earlyMs)
    if (known === undefined && !this.#hasRoom()) return unclear(backoff)
    const begun = begin()
    if (begun === undefined) return unclear(backoff)
    const found = begun.then((settled) => this.#ended(executionId, settled, backoff))
    this.#asking.set(executionId, found)
    return found
  }

  #ended(executionId: string, settled: boolean, backoff: number): Found {
    const { times } = this.#unclear.get(executionId) ?? { times: 0 }
    this.#asking.delete(executionId)
    this.#unclear.delete(executionId)
    if (settled) {
      this.#rememberSettled(executionId)
      return SETTLED
    }
    const askAgainMs = backoff * Math.min(2 ** times, LONGEST_BACKOFF)
    this.#unclear.set(executionId, { times: times + 1, notBefore: performance.now() + askAgainMs })
    return { kind: 'unclear', askAgainMs }
  }

  #rememberSettled(executionId: string): void {
    this.#settled.add(executionId)
    const [oldest] = this.#settled
    if (this.#settled.size > REMEMBERED && oldest !== undefined) this.#settled.delete(oldest)
  }

  /** Forgets one that may be asked about again anyway, where there is no room otherwise. */
  #hasRoom(): boolean {
    if (this.#unclear.size + this.#asking.size < REMEMBERED) return true
    for (const [executionId, { notBefore }] of this.#unclear) {
      if (notBefore > performance.now() || this.#asking.has(executionId)) continue
      this.#unclear.delete(executionId)
      return true
    }
    return false
  }
}

function unclear(leftMs: number): Promise<Found> {
  return Promise.resolve({ kind: 'unclear', askAgainMs: Math.ceil(leftMs) })
}
