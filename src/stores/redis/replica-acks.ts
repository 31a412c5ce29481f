// Waits until replicas have what a connection has written: one WAIT for all that one turn of the event loop sends.

/** While replicas are known to be missing nobody is held up for longer than a healthy one needs. */
const SHORT_MS = 100

interface Round {
  readonly acknowledged: Promise<void>
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/**
 * The server holds the connection until the replicas have all that the connection has written, whatever comes next; so the scripts of one
 * turn share one WAIT, sent behind them in the same write, and while one is under way the next is for all that is sent meanwhile.
 */
export class ReplicaAcks {
  readonly #needed: number
  readonly #longestMs: number
  /** WAIT on the same connection: so many replicas have all of it, after so many milliseconds at most. */
  readonly #wait: (replicas: number, timeoutMs: number) => Promise<number>
  #next: Round | undefined
  #underWay = false
  #missing = false

  constructor(needed: number, timeoutMs: number, wait: (replicas: number, timeoutMs: number) => Promise<number>) {
    this.#needed = needed
    // Whoever waits has a limit of its own, and has to hear of it before.
    this.#longestMs = Math.max(1, Math.floor(timeoutMs / 2))
    this.#wait = wait
  }

  /** Resolves when the replicas have what is sent in this turn; rejects where they do not say so in time. */
  join(): Promise<void> {
    this.#next ??= newRound()
    return this.#next.acknowledged
  }

  /** Behind everything that this turn sends. */
  flush(): void {
    const round = this.#next
    if (round === undefined || this.#underWay) return
    this.#next = undefined
    this.#underWay = true
    const timeoutMs = this.#missing ? Math.min(SHORT_MS, this.#longestMs) : this.#longestMs
    this.#wait(this.#needed, timeoutMs)
      .then(
        (count) => {
          this.#missing = count < this.#needed
          if (this.#missing) round.reject(new Error(`${count} of ${this.#needed} replicas have it`))
          else round.resolve()
        },
        (error: unknown) => round.reject(error instanceof Error ? error : new Error('WAIT failed')),
      )
      .finally(() => {
        this.#underWay = false
        this.flush()
      })
  }
}

function newRound(): Round {
  let resolve!: () => void
  let reject!: (error: Error) => void
  const acknowledged = new Promise<void>((yes, no) => {
    resolve = yes
    reject = no
  })
  // It may be that nobody needs to know: a refusal is no claim.
  acknowledged.catch(() => undefined)
  return { acknowledged, resolve, reject }
}
