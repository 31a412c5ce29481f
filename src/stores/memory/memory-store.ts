// The store in memory: the executable specification, for tests and single-process trials. A restart forgets everything.
import type { RecordView } from '../../model/record.ts'
import type { StoredResponse } from '../../model/stored-response.ts'
import type { AcquireRequest, Claim, RenewRequest, SettleRequest, SettleResult, Store } from '../store.ts'
import { StoreUnavailable } from '../store.ts'
import type { KeptRecord } from '../transitions.ts'
import { checkSettle, decideAcquire, grant, isDuplicate, living, refusalClaim, renew, settle, viewOf } from '../transitions.ts'
import { Watchers } from '../watchers.ts'

const SWEEP_EVERY_MS = 1000
const NO_BODY = Buffer.alloc(0)

interface Entry {
  readonly record: KeptRecord
  readonly body: Buffer
}

/** Every verb runs in one turn of the event loop, which makes it atomic. Only expired records are ever removed (G7). */
export class MemoryStore implements Store {
  readonly #entries = new Map<string, Entry>()
  readonly #watchers = new Watchers()
  readonly #now: () => number
  readonly #sweeper: NodeJS.Timeout
  #secret: string | undefined
  #closed = false

  constructor(now: () => number = Date.now) {
    this.#now = now
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_EVERY_MS).unref()
  }

  async acquire(request: AcquireRequest): Promise<Claim> {
    this.#open('acquire')
    const now = this.#now()
    const { fingerprint, record: found, decision } = decideAcquire((name) => this.#entries.get(name)?.record, request, now)
    if (typeof decision === 'object') {
      this.#entries.set(fingerprint, { record: grant(found, request, decision, now), body: NO_BODY })
      return decision
    }
    if (found === undefined) throw new TypeError('a refusal without a record')
    const body = this.#entries.get(fingerprint)?.body ?? NO_BODY
    let record = found
    if (isDuplicate(record, request, decision)) {
      record = { ...record, duplicates: record.duplicates + 1 }
      this.#entries.set(fingerprint, { record, body })
    }
    return refusalClaim(decision, { view: viewOf(fingerprint, record, now), digestFields: record.digestFields, body })
  }

  async renew(request: RenewRequest): Promise<SettleResult> {
    this.#open('renew')
    const now = this.#now()
    const entry = this.#living(request.fingerprint, now)
    const record = renew(entry?.record, request, now)
    if (entry === undefined || record === undefined) return 'stale'
    this.#entries.set(request.fingerprint, { ...entry, record })
    return 'ok'
  }

  async settle(request: SettleRequest): Promise<SettleResult> {
    checkSettle(request)
    this.#open('settle')
    const now = this.#now()
    const settled = settle(this.#living(request.fingerprint, now)?.record, request, now)
    if (typeof settled === 'string') return settled
    this.#entries.set(request.fingerprint, { record: settled, body: copyOf(request.response?.body) })
    this.#watchers.notify(request.fingerprint)
    return 'ok'
  }

  async read(fingerprint: string): Promise<RecordView | undefined> {
    this.#open('read')
    const now = this.#now()
    const entry = this.#living(fingerprint, now)
    return entry && viewOf(fingerprint, entry.record, now)
  }

  async readResponse(fingerprint: string): Promise<StoredResponse | undefined> {
    this.#open('readResponse')
    const entry = this.#living(fingerprint, this.#now())
    return entry?.record.head && { head: entry.record.head, body: entry.body }
  }

  async watch(fingerprint: string, onChange: () => void): Promise<() => void> {
    this.#open('watch')
    return this.#watchers.add(fingerprint, onChange)
  }

  async secret(candidate: string): Promise<string> {
    this.#open('secret')
    return (this.#secret ??= candidate)
  }

  async ping(): Promise<void> {
    this.#open('ping')
  }

  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#sweeper)
    this.#watchers.clear()
  }

  #open(verb: string): void {
    if (this.#closed) throw new StoreUnavailable(verb, new Error('the store is closed'))
  }

  #living(fingerprint: string, now: number): Entry | undefined {
    const entry = this.#entries.get(fingerprint)
    return living(entry?.record, now) && entry
  }

  #sweep(): void {
    const now = this.#now()
    for (const [fingerprint, { record }] of this.#entries) {
      if (living(record, now) === undefined) this.#entries.delete(fingerprint)
    }
  }
}

/** The bytes alone: a piece of a socket's read buffer would keep the whole of it in memory. */
function copyOf(body: Buffer | undefined): Buffer {
  return body === undefined || body.length === 0 ? NO_BODY : Buffer.from(body)
}
