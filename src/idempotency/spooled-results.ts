// Results that the store could not take in time: kept in the spool, and settled as soon as the store is back.
import type { Metrics } from '../model/metrics.ts'
import type { Operation } from '../model/operation.ts'
import type { Spool, SpooledResult } from '../stores/spool.ts'
import { type ExecutionName, type SettleResult, type Store, StoreUnavailable } from '../stores/store.ts'
import type { Log } from './log.ts'

/** How often the store is asked whether it takes the results by now. */
const LOOK_EVERY_MS = 250
/** So many are sent at once to a store that is back. */
const AT_ONCE = 8
const BATCH = 128

export interface SpooledResultsOptions {
  /** Undefined: there is none, and nothing is ever held. */
  readonly spool: Spool | undefined
  readonly store: Store
  readonly log: Log
  readonly metrics: Metrics
}

type Named = Pick<Operation, 'fingerprint' | 'aliases'>

interface Waiting {
  readonly fingerprint: string
  readonly tell: (ending: SettleResult) => void
}

/** `gone`: another process that shares the spool was faster. */
type Ending = SettleResult | 'gone'

export class SpooledResults {
  readonly #spool: Spool | undefined
  readonly #store: Store
  readonly #log: Log
  readonly #metrics: Metrics
  /** One attempt at a time for each. */
  readonly #underWay = new Map<string, Promise<Ending>>()
  /** Executions whose clients wait for the store. */
  readonly #waiting = new Map<string, Waiting>()
  /** Where a look begins, so that one result that the store never takes does not hold up the others. */
  #after = ''
  #looking: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  #closed = false

  constructor({ spool, store, log, metrics }: SpooledResultsOptions) {
    this.#spool = spool
    this.#store = store
    this.#log = log
    this.#metrics = metrics
    if (spool !== undefined) this.#schedule()
  }

  /** Whether results can be kept here. */
  get enabled(): boolean {
    return this.#spool !== undefined && !this.#closed
  }

  /** Resolves when it is on disk, with true, or when it cannot be. */
  async keep(result: SpooledResult): Promise<boolean> {
    const { fingerprint, executionId } = result.settle
    const about = { rule: result.rule, fingerprint, execution: executionId }
    try {
      if ((await this.#spool?.put(result)) === 'kept') {
        this.#count()
        this.#log.warn(about, 'the store is out of reach: the result is kept in the spool until it is back')
        return true
      }
      this.#log.error(about, 'the store is out of reach, and the spool is full (spool.maxSize): the result is in memory only')
    } catch (error) {
      this.#log.error({ ...about, err: error }, 'the store is out of reach, and the spool cannot be written: the result is in memory only')
    }
    return false
  }

  /** Whether the result of one of these fingerprints waits here for the store. */
  holds({ fingerprint, aliases }: Named): boolean {
    if (this.#spool === undefined) return false
    return this.#spool.heldFor(aliases === undefined ? [fingerprint] : [fingerprint, ...aliases]).length > 0
  }

  /** Settles what is held for these fingerprints: nobody may decide on their records before. Rejects with StoreUnavailable. */
  async settle({ fingerprint, aliases = [] }: Named): Promise<void> {
    const held = this.#spool?.heldFor([fingerprint, ...aliases]) ?? []
    await Promise.all(held.map((executionId) => this.#settleOne(executionId)))
  }

  /** What becomes of a result that was kept, once the store is back; `unsettled` where that takes longer. */
  async whenSettled({ fingerprint, executionId }: ExecutionName, limitMs: number): Promise<SettleResult | 'unsettled'> {
    let timer: NodeJS.Timeout | undefined
    const ending = new Promise<SettleResult | 'unsettled'>((resolve) => {
      this.#waiting.set(executionId, { fingerprint, tell: resolve })
      timer = setTimeout(() => resolve('unsettled'), limitMs)
    })
    try {
      return await ending
    } finally {
      clearTimeout(timer)
      this.#waiting.delete(executionId)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#looking
    await this.#spool?.close()
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      this.#looking = this.#look()
        .catch((error: unknown) => this.#log.error({ err: error }, 'the spool cannot be read'))
        .finally(() => {
          if (!this.#closed) this.#schedule()
        })
    }, LOOK_EVERY_MS).unref()
  }

  /** As far as the store takes them. */
  async #look(): Promise<void> {
    const spool = this.#spool!
    await spool.look()
    this.#count()
    await this.#tellOfOthers(spool)
    for (;;) {
      const some = spool.oldest(BATCH, this.#after)
      const [first, ...others] = some
      this.#after = some.at(-1) ?? ''
      if (first === undefined || this.#closed) return
      // The first finds out whether the store is back; where it is not, the next look tries another one.
      if (!(await this.#isTaken(first))) {
        this.#after = first
        return
      }
      const lane = async (): Promise<void> => {
        for (let next = others.shift(); next !== undefined && !this.#closed; next = others.shift()) await this.#isTaken(next)
      }
      await Promise.all(Array.from({ length: AT_ONCE }, lane))
      this.#count()
    }
  }

  /** Another process that shares the spool may have been faster: the record says how it ended. */
  async #tellOfOthers(spool: Spool): Promise<void> {
    for (const [executionId, { fingerprint, tell }] of this.#waiting) {
      if (this.#underWay.has(executionId) || spool.get(executionId) !== undefined) continue
      try {
        const record = await this.#store.read(fingerprint)
        const stored = record?.executionId === executionId && (record.status === 'completed' || record.status === 'failed')
        tell(stored ? 'ok' : 'stale')
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
      }
    }
  }

  async #isTaken(executionId: string): Promise<boolean> {
    try {
      await this.#settleOne(executionId)
      return true
    } catch (error) {
      if (!(error instanceof StoreUnavailable))
        this.#log.error({ err: error, execution: executionId }, 'a spooled result cannot be settled')
      return false
    }
  }

  #settleOne(executionId: string): Promise<Ending> {
    const underWay = this.#underWay.get(executionId)
    if (underWay !== undefined) return underWay
    const attempt = this.#attempt(executionId).finally(() => this.#underWay.delete(executionId))
    this.#underWay.set(executionId, attempt)
    return attempt
  }

  async #attempt(executionId: string): Promise<Ending> {
    const result = this.#spool?.get(executionId)
    if (result === undefined) return 'gone'
    const { settle, unsure, rule } = result
    const whole = unsure === undefined || (await this.#store.append(unsure)) === 'ok'
    const ending = await this.#store.settle(whole ? settle : withoutBody(settle))
    this.#waiting.get(executionId)?.tell(ending)
    await this.#spool?.remove(executionId)
    this.#count()
    this.#metrics.settled(settle.to, ending)
    const about = { rule, fingerprint: settle.fingerprint, execution: executionId }
    if (ending === 'ok') this.#log.warn(about, 'the store is back: the result from the spool is stored')
    else this.#log.warn(about, 'a result from the spool came too late and was dropped: a later execution holds the record, or it is gone')
    return ending
  }

  #count(): void {
    if (this.#spool !== undefined) this.#metrics.spooled(this.#spool.count())
  }
}

/** The log has lost a piece: what is left of it is no body. */
function withoutBody({ response, ...settle }: SpooledResult['settle']): SpooledResult['settle'] {
  if (response === undefined) return settle
  return { ...settle, response: { head: { ...response.head, bodyStored: false }, body: Buffer.alloc(0) }, logged: 0 }
}
