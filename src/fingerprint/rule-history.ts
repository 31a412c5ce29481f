// Which versions of the rules a request is looked for under besides the current one, and in which of them it is claimed.
import type { Rule } from './compile-rule.ts'
import type { RuleSet } from './rule-set.ts'

/** What is not the waiting of a duplicate: calls to the store, a question to the upstream. */
const MARGIN_MS = 15_000

/** The versions that count at one moment. */
export interface Versions {
  /** Those that a gateway on the store may have for its current one, the oldest first; the last is this gateway's. */
  readonly claimable: readonly RuleSet[]
  /** All that records may have been made under. */
  readonly all: readonly RuleSet[]
}

/** From when on a version was the current one, in milliseconds of a clock that only goes forward. */
interface Reign {
  readonly set: RuleSet
  readonly from: number
}

/** So many others are told apart; beyond that a new one is refused rather than an old one forgotten. */
export const MOST_VERSIONS = 128

/**
 * Gateways on one store take up a version at different times, but all within `overlapMs` of each other. So a request is claimed under the
 * version that was current here that long ago (by then every gateway knows it, and nobody has forgotten it), and looked for under
 * every version under which a record may still live. Whatever the order in which the gateways change, each looks for the name that
 * another claims: two requests that all versions take for the same never both execute. What only the new version takes for the
 * same counts from the end of the overlap on.
 */
export class RuleHistory {
  readonly #now: () => number
  #reigns: Reign[]
  /** When each other version ceased to be the current one; Infinity: it was named as one to keep. */
  readonly #others = new Map<string, { set: RuleSet; until: number }>()
  #overlapMs: number
  #versions: { readonly value: Versions | undefined; readonly validUntil: number } | undefined

  /** `earlier`: versions that the configuration names as those before it, the oldest first. */
  constructor(first: RuleSet, options: { overlapMs: number; earlier?: readonly RuleSet[]; now?: () => number }) {
    this.#now = options.now ?? (() => performance.now())
    this.#overlapMs = options.overlapMs
    const earlier = (options.earlier ?? []).filter(({ derivation }) => derivation !== first.derivation)
    for (const set of earlier) this.#others.set(set.derivation, { set, until: Infinity })
    const now = this.#now()
    const reigns = [...earlier, first].map((set, n) => ({ set, from: n === 0 ? -Infinity : now }))
    this.#reigns = reigns
  }

  get current(): RuleSet {
    return this.#reigns.at(-1)!.set
  }

  /** Whether there is room for one more version. */
  mayBegin(set: RuleSet): boolean {
    this.#forget(this.#now())
    return this.#others.size < MOST_VERSIONS || this.#others.has(set.derivation) || set.derivation === this.current.derivation
  }

  begin(set: RuleSet, { overlapMs, earlier = [] }: { overlapMs: number; earlier?: readonly RuleSet[] }): void {
    const now = this.#now()
    const before = this.current
    this.#overlapMs = overlapMs
    this.#versions = undefined
    // Named no longer: from now on time decides.
    for (const other of this.#others.values()) other.until = Math.min(other.until, now)
    if (before.derivation === set.derivation) this.#reigns[this.#reigns.length - 1] = { ...this.#reigns.at(-1)!, set }
    else {
      this.#others.set(before.derivation, { set: before, until: now })
      this.#others.delete(set.derivation)
      this.#reigns.push({ set, from: now })
    }
    for (const each of earlier) if (each.derivation !== set.derivation) this.#others.set(each.derivation, { set: each, until: Infinity })
  }

  /** Undefined where there is but one. */
  versions(): Versions | undefined {
    const now = this.#now()
    if (this.#versions === undefined || now >= this.#versions.validUntil) this.#versions = this.#compute(now)
    return this.#versions.value
  }

  /** The rules of that name as other versions have them. */
  rulesNamed(name: string): Rule[] {
    return [...this.#others.values()].flatMap(({ set }) => set.rules.filter(({ config }) => config.name === name))
  }

  /** The versions besides the current one, by the time at which they ceased to be it. */
  get others(): readonly RuleSet[] {
    this.#forget(this.#now())
    return [...this.#others.values()].map(({ set }) => set)
  }

  /** Milliseconds until a request is claimed under the current version alone. */
  claimedAnewInMs(): number {
    const last = this.#reigns.at(-1)!
    return this.versions() === undefined ? 0 : Math.max(0, last.from + this.#overlap() - this.#now())
  }

  #compute(now: number) {
    const overlap = this.#overlap()
    this.#forget(now)
    // The last that began before the overlap did is the first that counts.
    const first = this.#reigns.findLastIndex(({ from }) => from <= now - overlap)
    if (first > 0) this.#reigns = this.#reigns.slice(first)
    if (this.#others.size === 0) return { value: undefined, validUntil: Infinity }
    const claimable = [...new Map(this.#reigns.toReversed().map(({ set }) => [set.derivation, set])).values()].toReversed()
    const value = { claimable: inOrder(this.#reigns, claimable), all: [this.current, ...[...this.#others.values()].map(({ set }) => set)] }
    const ends = [
      ...this.#reigns.slice(1).map(({ from }) => from + overlap),
      ...[...this.#others.values()].map((other) => this.#endOf(other, overlap)),
    ]
    return { value, validUntil: Math.min(...ends) }
  }

  #forget(now: number): void {
    const overlap = this.#overlap()
    for (const [derivation, other] of this.#others) if (this.#endOf(other, overlap) <= now) this.#others.delete(derivation)
  }

  /** Another gateway may claim under it for an overlap longer than this one, which is itself as much behind. */
  #endOf({ set, until }: { set: RuleSet; until: number }, overlap: number): number {
    return until + 2 * overlap + set.keptMs
  }

  /** Nothing that was identified before a change waits longer than this for its claim. */
  #overlap(): number {
    const holds = [...this.#reigns.map(({ set }) => set), ...[...this.#others.values()].map(({ set }) => set)]
    return Math.max(this.#overlapMs, ...holds.map(({ longestHoldMs }) => longestHoldMs + MARGIN_MS))
  }
}

/** Each once, where it reigned first. */
function inOrder(reigns: readonly Reign[], latest: readonly RuleSet[]): RuleSet[] {
  const byDerivation = new Map(latest.map((set) => [set.derivation, set]))
  const order = [...new Set(reigns.map(({ set }) => set.derivation))]
  return order.map((derivation) => byDerivation.get(derivation)!)
}
