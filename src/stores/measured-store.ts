// A store that tells how long its calls take, why they fail, and what came of those that change a record's state.
import type { Metrics, StoreVerb } from '../model/metrics.ts'
import type { RecordView } from '../model/record.ts'
import type { KeptResponse } from '../model/stored-response.ts'
import type {
  AcquireRequest,
  AppendRequest,
  Claim,
  ExecutionName,
  ListRequest,
  LogReading,
  LogRequest,
  RecordsPage,
  RenewRequest,
  SettleRequest,
  SettleResult,
  Store,
} from './store.ts'

/** Told after each answer of the store. */
export interface Witness {
  acquired(request: AcquireRequest, claim: Claim): void
  /** It was taken. */
  settled(request: SettleRequest): void
  removed(name: ExecutionName): void
}

export interface MeasuredBy {
  readonly tell: Metrics['store']
  readonly onFault: (verb: string, error: unknown) => void
  readonly witness: Witness
}

export class MeasuredStore implements Store {
  readonly #store: Store
  readonly #tell: Metrics['store']
  readonly #witness: Witness

  readonly #onFault: MeasuredBy['onFault']

  constructor(store: Store, { tell, onFault, witness }: MeasuredBy) {
    this.#store = store
    this.#tell = tell
    this.#onFault = onFault
    this.#witness = witness
  }

  acquire(request: AcquireRequest): Promise<Claim> {
    return this.#timed('acquire', performance.now(), this.#store.acquire(request), (claim) => this.#witness.acquired(request, claim))
  }

  renew(request: RenewRequest): Promise<SettleResult | 'cancelled'> {
    return this.#timed('renew', performance.now(), this.#store.renew(request))
  }

  settle(request: SettleRequest): Promise<SettleResult> {
    const call = this.#store.settle(request)
    return this.#timed('settle', performance.now(), call, (result) => result === 'ok' && this.#witness.settled(request))
  }

  append(request: AppendRequest): Promise<SettleResult> {
    return this.#timed('append', performance.now(), this.#store.append(request))
  }

  cancel(request: ExecutionName): Promise<SettleResult> {
    return this.#timed('cancel', performance.now(), this.#store.cancel(request))
  }

  readLog(request: LogRequest): Promise<LogReading> {
    return this.#timed('readLog', performance.now(), this.#store.readLog(request))
  }

  read(fingerprint: string): Promise<RecordView | undefined> {
    return this.#timed('read', performance.now(), this.#store.read(fingerprint))
  }

  list(request: ListRequest): Promise<RecordsPage> {
    return this.#timed('list', performance.now(), this.#store.list(request))
  }

  remove(request: ExecutionName): Promise<SettleResult> {
    const call = this.#store.remove(request)
    return this.#timed('remove', performance.now(), call, (result) => result === 'ok' && this.#witness.removed(request))
  }

  readResponse(fingerprint: string): Promise<KeptResponse | undefined> {
    return this.#timed('readResponse', performance.now(), this.#store.readResponse(fingerprint))
  }

  watch(fingerprint: string, onChange: () => void): Promise<() => void> {
    return this.#store.watch(fingerprint, onChange)
  }

  secret(candidate: string): Promise<string> {
    return this.#store.secret(candidate)
  }

  ping(): Promise<void> {
    return this.#timed('ping', performance.now(), this.#store.ping())
  }

  close(): Promise<void> {
    return this.#store.close()
  }

  /** The caller gets the store's own promise: measuring is no step on its way. */
  #timed<T>(verb: StoreVerb, since: number, call: Promise<T>, seen?: (answer: T) => unknown): Promise<T> {
    call.then(
      (answer) => {
        this.#tell(verb, performance.now() - since, false)
        seen?.(answer)
      },
      (error: unknown) => {
        this.#tell(verb, performance.now() - since, true)
        this.#onFault(verb, error)
      },
    )
    return call
  }
}
