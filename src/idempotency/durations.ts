// How long a rule's executions usually take, so that a duplicate is told when asking again is worth it.

const REMEMBERED = 21
const UNKNOWN_MS = 1000
/** Clients give up, or stop believing, beyond a minute. */
const LONGEST_MS = 59_000

export class Durations {
  readonly #byRule = new Map<string, number[]>()

  add(rule: string, milliseconds: number): void {
    const recent = this.#byRule.get(rule) ?? []
    recent.push(milliseconds)
    if (recent.length > REMEMBERED) recent.shift()
    this.#byRule.set(rule, recent)
  }

  /**
   * Milliseconds that an execution of the rule will probably still take after `elapsed`. One that is over the usual
   * time is expected to take half as long again, so that its duplicates ask less and less often.
   */
  left(rule: string, elapsed: number): number {
    const usual = this.usual(rule)
    const left = usual === undefined ? Math.max(UNKNOWN_MS, elapsed / 2) : elapsed < usual ? usual - elapsed : Math.max(elapsed / 2, 1)
    return Math.min(left, LONGEST_MS)
  }

  /** Milliseconds that an execution of the rule takes in the middle of cases; undefined while none has ended. */
  usual(rule: string): number | undefined {
    const recent = this.#byRule.get(rule)
    return recent === undefined ? undefined : recent.toSorted((a, b) => a - b)[recent.length >> 1]
  }
}
