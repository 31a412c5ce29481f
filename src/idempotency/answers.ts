// The streamed answers that this process knows: those of its own executions, and those of others that somebody here follows.
import { problem, type Problem } from '../model/problems.ts'
import type { AnswerHead } from '../model/stored-response.ts'
import type { RecordView } from '../model/record.ts'
import { type ExecutionName, type LogReading, type Store, StoreUnavailable } from '../stores/store.ts'
import { Bell } from './bell.ts'
import { LiveAnswer } from './live-answer.ts'

const READ_BYTES = 262_144
/** A wake-up call can get lost with a connection; this often the log is looked at anyway. */
const LOOK_AGAIN_MS = 1000
/** The store may be away for so long before those who follow are told that the answer is lost to them. */
const PATIENCE_MS = 10_000

export class Answers {
  readonly #live = new Map<string, LiveAnswer>()
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  get(executionId: string): LiveAnswer | undefined {
    return this.#live.get(executionId)
  }

  /** Of this process's own execution, until the returned function is called. */
  add(executionId: string, answer: LiveAnswer): () => void {
    this.#live.set(executionId, answer)
    return () => this.#remove(executionId, answer)
  }

  /** Another process's answer: read from the store's log once for all who follow it here. */
  join(name: ExecutionName, head: AnswerHead): LiveAnswer {
    const known = this.#live.get(name.executionId)
    if (known !== undefined) return known
    const answer = new LiveAnswer(head)
    this.#live.set(name.executionId, answer)
    void this.#tail(name, answer).finally(() => this.#remove(name.executionId, answer))
    return answer
  }

  #remove(executionId: string, answer: LiveAnswer): void {
    if (this.#live.get(executionId) === answer) this.#live.delete(executionId)
  }

  async #tail(name: ExecutionName, answer: LiveAnswer): Promise<void> {
    const bell = new Bell()
    const ring = (): void => bell.ring()
    let unwatch: () => void = ring
    let deserted = false
    answer.onDeserted = () => {
      deserted = true
      // Whoever comes now gets another.
      this.#remove(name.executionId, answer)
      ring()
    }
    let patientUntil = performance.now() + PATIENCE_MS
    while (!deserted && answer.end === undefined) {
      try {
        if (unwatch === ring) unwatch = await this.#store.watch(name.fingerprint, ring)
        const reading = await this.#store.readLog({ ...name, offset: answer.length, maxBytes: READ_BYTES })
        patientUntil = performance.now() + PATIENCE_MS
        if (!take(reading, answer)) await bell.wait(Math.min(reading.kind === 'open' ? reading.leaseLeft + 1 : 0, LOOK_AGAIN_MS))
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
        if (performance.now() > patientUntil) answer.finish({ kind: 'broken', problem: storeLost(name.fingerprint) })
        else await bell.wait(LOOK_AGAIN_MS / 4)
      }
    }
    unwatch()
  }
}

/** False where there is nothing new. */
function take(reading: LogReading, answer: LiveAnswer): boolean {
  if (reading.kind === 'gone') {
    answer.finish({ kind: 'broken', problem: brokenOff(reading.record) })
    return true
  }
  answer.push(reading.bytes)
  // All that is here is in the store, too.
  answer.raiseFloor(answer.length)
  if (reading.kind === 'open') return reading.bytes.length > 0
  if (answer.length >= reading.head.bodyBytes) answer.finish({ kind: 'whole' })
  else if (reading.bytes.length === 0) answer.finish({ kind: 'broken', problem: brokenOff(undefined) })
  return true
}

/** What became of an execution whose answer somebody was following. */
export function brokenOff(record: RecordView | undefined): Problem {
  const named = record === undefined ? {} : { fingerprint: record.fingerprint }
  switch (record?.status) {
    case 'unknown':
      return problem('outcome-unknown', 'The execution broke off before its answer was whole; its outcome is not known.', named)
    case 'completed':
    case 'processing':
      return problem('result-not-stored', 'The answer is not kept: it cannot be followed to its end.', named)
    default:
      return problem('in-flight', 'The execution ended without an answer: ask again.', { ...named, retryAfterMs: 1000 })
  }
}

function storeLost(fingerprint: string): Problem {
  return problem('store-unavailable', 'The store that keeps this answer is out of reach.', { fingerprint, retryAfterMs: 1000 })
}
