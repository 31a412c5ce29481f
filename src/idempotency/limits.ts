// What this process executes of a rule at all: the breaker's word, and the number for one owner.
import type { RuleConfig } from '../config/gateway-config.ts'
import { problem, type Problem } from '../model/problems.ts'
import { Breaker, type Sign } from './breaker.ts'
import type { Durations } from './durations.ts'

/** The place of one execution among those that the limits count. */
export interface Pass {
  /** Gives it back, once; later calls do nothing. */
  leave(sign: Sign): void
}

export class Limits {
  readonly #byRule = new Map<string, RuleLimits>()

  /** `before`: the limits of an earlier version of these rules, whose counts go on where they are the same. */
  constructor(
    rules: readonly RuleConfig[],
    options: { readonly durations: Durations; readonly onBreaker: OnBreaker; readonly before?: Limits | undefined },
  ) {
    for (const rule of rules) {
      if (rule.breaker === undefined && rule.maxInFlightPerOwner === undefined) continue
      const before = options.before?.of(rule)
      this.#byRule.set(rule.name, before?.isFor(rule) === true ? before : new RuleLimits(rule, options))
    }
  }

  /** Undefined for a rule without any. */
  of(rule: RuleConfig): RuleLimits | undefined {
    return this.#byRule.size === 0 ? undefined : this.#byRule.get(rule.name)
  }
}

type OnBreaker = (rule: string, state: 'open' | 'closed') => void

export class RuleLimits {
  readonly #rule: string
  readonly #durations: Durations
  readonly #settings: RuleConfig['breaker']
  readonly #breaker: Breaker | undefined
  readonly #most: number
  /** When each execution in flight began, by owner, the oldest first. */
  readonly #inFlight = new Map<string, Set<{ readonly since: number }>>()

  constructor(rule: RuleConfig, { durations, onBreaker }: { durations: Durations; onBreaker: OnBreaker }) {
    this.#rule = rule.name
    this.#durations = durations
    this.#settings = rule.breaker
    this.#breaker = rule.breaker && new Breaker(rule.breaker, (state) => onBreaker(rule.name, state))
    this.#most = rule.maxInFlightPerOwner ?? Infinity
  }

  isFor({ breaker, maxInFlightPerOwner = Infinity }: RuleConfig): boolean {
    return this.#most === maxInFlightPerOwner && JSON.stringify(this.#settings) === JSON.stringify(breaker)
  }

  /** Why an execution for this owner would be refused now; undefined: it would not. */
  refusal(owner: string): Problem | undefined {
    const now = performance.now()
    const open = this.#breaker?.refusal(now)
    if (open !== undefined) return this.#breakerOpen(open)
    const running = this.#inFlight.get(owner)
    return running !== undefined && running.size >= this.#most ? this.#tooMany(running, now) : undefined
  }

  /** The place is taken and the trial begun in the same moment in which neither is refused. */
  enter(owner: string): Pass | Problem {
    const refusal = this.refusal(owner)
    if (refusal !== undefined) return refusal
    const now = performance.now()
    const trial = this.#breaker?.enter(now) ?? false
    const giveBack = this.#take(owner, now)
    let left = false
    return {
      leave: (sign) => {
        if (left) return
        left = true
        giveBack()
        this.#breaker?.leave(sign, { trial, now: performance.now() })
      },
    }
  }

  #take(owner: string, since: number): () => void {
    const running = this.#inFlight.get(owner) ?? new Set()
    this.#inFlight.set(owner, running)
    const place = { since }
    running.add(place)
    return () => {
      running.delete(place)
      if (running.size === 0) this.#inFlight.delete(owner)
    }
  }

  #breakerOpen(refusal: { readonly openMs: number } | { readonly triedMs: number }): Problem {
    const left = 'openMs' in refusal ? refusal.openMs : this.#durations.left(this.#rule, refusal.triedMs)
    return problem(
      'breaker-open',
      'Too many executions of this rule ended with an unknown outcome, so none is begun for a while; this request was not sent.',
      { retryAfterMs: Math.max(1, Math.ceil(left)) },
    )
  }

  #tooMany(running: ReadonlySet<{ readonly since: number }>, now: number): Problem {
    const [oldest] = running
    const left = this.#durations.left(this.#rule, now - (oldest?.since ?? now))
    return problem('too-many-in-flight', 'As many requests of this owner are being executed as the rule allows; this one was not sent.', {
      retryAfterMs: Math.max(1, Math.ceil(left)),
    })
  }
}
