// The executions, held requests and store duties under way in this process, so that a shutdown can wait for them, then
// end them.

export interface Running {
  readonly fingerprint: string
  readonly executionId: string
  readonly rule: string
  readonly attempt: number
  /** `performance.now()`. */
  readonly since: number
}

export interface LiveExecution {
  /** Of what somebody may cancel by its name; other work has none. */
  readonly executionId?: string
  /** Of an execution that has begun. */
  readonly running?: Running
  /** Gives the execution up; its outcome is settled as far as it is known. */
  giveUp(): void
  /** Resolves when its outcome is settled. Never rejects. */
  readonly settled: Promise<void>
}

interface Entry {
  readonly execution: LiveExecution
  /** Where it stands in the list. */
  at: number
}

/**
 * A list that closes its gaps with its last entry. A Set would do the same, but grows and shrinks by copying its table, and
 * the tables it leaves behind keep what was in them from the young generation's collector: whole answers, thousands of them.
 */
export class LiveExecutions {
  readonly #live: Entry[] = []
  #over = false

  add(execution: LiveExecution): void {
    const entry = { execution, at: this.#live.length }
    this.#live.push(entry)
    void execution.settled.then(() => this.#remove(entry))
    if (this.#over) execution.giveUp()
  }

  /** The executions among them, the oldest first; at most so many. */
  running(most: number): Running[] {
    const all = this.#live.flatMap(({ execution }) => execution.running ?? [])
    return all.sort((a, b) => a.since - b.since).slice(0, most)
  }

  /** Gives that execution up, where it runs here. */
  cancel(executionId: string): boolean {
    const entry = this.#live.find(({ execution }) => execution.executionId === executionId)
    entry?.execution.giveUp()
    return entry !== undefined
  }

  /**
   * Waits until nothing is under way and `also` is done, for `graceMs` at most. What then still runs, or begins, is given
   * up, and its settling waited for, `lastMs` at most.
   */
  async drain(graceMs: number, options: { also: PromiseLike<unknown>; lastMs: number }): Promise<void> {
    await within(graceMs, Promise.all([this.#allSettled(), options.also]))
    this.#over = true
    for (const { execution } of this.#live) execution.giveUp()
    await within(options.lastMs, this.#allSettled())
  }

  #remove(entry: Entry): void {
    const last = this.#live.pop()
    if (last === undefined || last === entry) return
    this.#live[entry.at] = last
    last.at = entry.at
  }

  async #allSettled(): Promise<void> {
    while (this.#live.length > 0) await Promise.all(this.#live.map(({ execution }) => execution.settled))
  }
}

async function within(limitMs: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs)
  })
  await Promise.race([work, limit])
  clearTimeout(timer)
}
