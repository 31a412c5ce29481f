// What every store is opened with.

export interface StoreOptions {
  /** Every call is answered, or refused with StoreUnavailable, within this. */
  readonly timeoutMs: number
  /** Is told what an operator should know: a server that may forget, a connection lost. */
  readonly warn: (message: string) => void
  /** A claim and a result count only once so many replicas have them; only Redis has replicas that can be asked. Default: 0 */
  readonly replicasAck?: number
}
