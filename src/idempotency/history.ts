// What has happened to records at this gateway, as far as the records themselves do not tell it.
import type { RecordStatus } from '../model/record.ts'
import type { AcquireRequest, Claim, ExecutionName, SettleRequest } from '../stores/store.ts'

export interface Transition {
  /** Milliseconds since 1970, by this gateway's clock. */
  readonly at: number
  /** Undefined: not known here. */
  readonly from: RecordStatus | undefined
  /** `removed`: by an operator. */
  readonly to: RecordStatus | 'removed'
  readonly executionId: string
  /** Where it was told: of grants. */
  readonly attempt: number | undefined
  /** `operator`: somebody's word on the admin port. */
  readonly by: 'gateway' | 'operator'
  /** What the operator has given as a reason. */
  readonly reason: string | undefined
}

interface Kept {
  readonly fingerprint: string
  readonly transition: Transition
}

const MOST = 5000

/**
 * A ring of the latest transitions. First executions and the results they came to are left out: the record tells of these itself,
 * and they would push everything else out within a second.
 */
export class History {
  readonly #ring: Kept[] = []
  #next = 0

  /** Of each acquire that was answered. */
  acquired({ executionId }: AcquireRequest, claim: Claim): void {
    if (claim.kind !== 'acquired' || claim.after === 'none') return
    const { fingerprint, attempt, after: from } = claim
    this.#add(fingerprint, { from, to: 'processing', executionId, attempt })
  }

  /** Of each settling that was taken. */
  settled({ fingerprint, executionId, to }: SettleRequest): void {
    if (to === 'completed') return
    this.#add(fingerprint, { to, executionId })
  }

  byOperator(name: ExecutionName, step: Pick<Transition, 'from' | 'to' | 'reason'>): void {
    const { fingerprint, executionId } = name
    const kept = this.#lastOf(fingerprint)
    // What the operator has settled was seen being settled as well.
    const last = kept?.transition
    if (kept !== undefined && last?.executionId === executionId && last.to === step.to && last.by === 'gateway')
      this.#ring[this.#ring.indexOf(kept)] = { fingerprint, transition: { ...last, ...step, by: 'operator' } }
    else this.#add(fingerprint, { executionId, ...step, by: 'operator' })
  }

  /** In the order of time. */
  of(fingerprint: string): Transition[] {
    const inOrder = [...this.#ring.slice(this.#next), ...this.#ring.slice(0, this.#next)]
    return inOrder.filter((kept) => kept.fingerprint === fingerprint).map(({ transition }) => transition)
  }

  #lastOf(fingerprint: string): Kept | undefined {
    for (let back = 1; back <= this.#ring.length; back++) {
      const kept = this.#ring[(this.#next - back + this.#ring.length) % this.#ring.length]
      if (kept?.fingerprint === fingerprint) return kept
    }
    return undefined
  }

  #add(fingerprint: string, step: Pick<Transition, 'to' | 'executionId'> & Partial<Transition>): void {
    const transition = { at: Date.now(), from: undefined, attempt: undefined, by: 'gateway', reason: undefined, ...step } as const
    this.#ring[this.#next] = { fingerprint, transition }
    this.#next = (this.#next + 1) % MOST
  }
}
