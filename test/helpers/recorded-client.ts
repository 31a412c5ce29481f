// A client's side of a response that only notes down what it is sent.
import type { Problem } from '../../src/model/problems.ts'
import type { HeaderList } from '../../src/model/stored-response.ts'
import type { ClientStream } from '../../src/idempotency/answer.ts'

export class RecordedClient implements ClientStream {
  gone = false
  status: number | undefined
  headers: HeaderList = []
  readonly writes: Buffer[] = []
  ending: 'open' | 'flushed' | 'ended' | 'broken' = 'open'
  problem: Problem | undefined
  /** What write answers; `drain` makes it true again. */
  ready = true
  readonly #goneListeners: (() => void)[] = []
  #drainListeners: (() => void)[] = []

  get bytes(): Buffer {
    return Buffer.concat(this.writes)
  }

  get text(): string {
    return this.bytes.toString()
  }

  leave(): void {
    this.gone = true
    for (const listener of this.#goneListeners) listener()
  }

  drain(): void {
    this.ready = true
    const listeners = this.#drainListeners
    this.#drainListeners = []
    for (const listener of listeners) listener()
  }

  onGone(listener: () => void): void {
    this.#goneListeners.push(listener)
  }

  onDrain(listener: () => void): void {
    this.#drainListeners.push(listener)
  }

  head(status: number, headers: HeaderList): void {
    this.status = status
    this.headers = headers
  }

  flushHead(): void {
    this.ending = 'flushed'
  }

  write(chunk: Buffer): boolean {
    this.writes.push(chunk)
    return this.ready
  }

  end(chunk?: Buffer): void {
    if (chunk !== undefined) this.writes.push(chunk)
    this.ending = 'ended'
  }

  break(problem?: Problem): void {
    this.problem = problem
    this.ending = 'broken'
  }
}
