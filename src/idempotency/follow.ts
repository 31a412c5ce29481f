// Gives one client a streamed answer from any of its bytes on: what the store has of it, then what comes live, at the client's
// own pace. The same for the execution's first client, for everybody who joins, and for the replay of a large result.
import { headerValue } from '../model/headers.ts'
import { problem, type Problem } from '../model/problems.ts'
import type { AnswerHead } from '../model/stored-response.ts'
import { StoreUnavailable } from '../stores/store.ts'
import type { ClientStream, FollowedAnswer } from './answer.ts'
import { Bell } from './bell.ts'
import type { AnswerEnd } from './live-answer.ts'
import { persist } from './persist.ts'

/** A client that takes nothing for so long is cut off: it may come again. */
const STALL_MS = 30_000
/** Nobody rings for longer than this: look whether all is well. */
const LOOK_AGAIN_MS = 10_000
const READ_BYTES = 262_144
const READ_PATIENCE_MS = 5000

export interface FollowOptions {
  readonly offset: number
  /** Told how far this client has got. */
  readonly onProgress?: (offset: number) => void
}

/** How it ended for this client. `cut`: it was too slow. */
export type Followed = 'whole' | 'broken' | 'gone' | 'cut'

/** The head has been sent. Resolves when the client has the end, or cannot get one. */
export async function follow(answer: FollowedAnswer, client: ClientStream, options: FollowOptions): Promise<Followed> {
  const follower = new Follower(answer, client, options)
  try {
    return await follower.run()
  } finally {
    follower.stop()
  }
}

class Follower {
  readonly #answer: FollowedAnswer
  readonly #client: ClientStream
  readonly #bell = new Bell()
  readonly #onProgress: (offset: number) => void
  readonly #stopListening: () => void
  readonly #declared: number | undefined
  #offset: number
  #drained = true

  constructor(answer: FollowedAnswer, client: ClientStream, { offset, onProgress = ignore }: FollowOptions) {
    this.#answer = answer
    this.#client = client
    this.#offset = offset
    this.#onProgress = onProgress
    this.#declared = declaredBytes(answer.head)
    this.#stopListening = answer.live?.listen(() => this.#bell.ring()) ?? ignore
    client.onGone(() => this.#bell.ring())
  }

  stop(): void {
    this.#stopListening()
  }

  async run(): Promise<Followed> {
    for (;;) {
      if (this.#client.gone) return 'gone'
      const next = this.#ready() ?? (await this.#read())
      if (!Buffer.isBuffer(next)) return this.#finish(next)
      if (next.length === 0) await this.#bell.wait(LOOK_AGAIN_MS)
      else if (!(await this.#write(next))) return this.#client.gone ? 'gone' : 'cut'
    }
  }

  /** What can be said without asking the store: bytes, none yet, or the end; undefined where the store must be asked. */
  #ready(): Buffer | AnswerEnd | undefined {
    const { live } = this.#answer
    if (live === undefined) return undefined
    if (live.end?.kind === 'broken') return live.end
    if (live.end !== undefined && this.#offset === live.length) return live.end
    if (this.#lost()) return { kind: 'broken', problem: tooFarBehind(this.#answer.fingerprint) }
    const bytes = live.from(this.#offset)
    // Whoever saw all bytes of a declared length has seen the end: the last one waits for it.
    return live.end === undefined ? bytes?.subarray(0, Math.max(0, this.#lastOffset() - this.#offset)) : bytes
  }

  async #read(): Promise<Buffer | AnswerEnd> {
    const { store, fingerprint, executionId } = this.#answer
    const request = { fingerprint, executionId, offset: this.#offset, maxBytes: READ_BYTES }
    try {
      const reading = await persist(() => store.readLog(request), READ_PATIENCE_MS)
      if (reading.kind === 'open') return reading.bytes.subarray(0, Math.max(0, this.#lastOffset() - this.#offset))
      if (reading.kind === 'closed' && this.#offset >= reading.head.bodyBytes) return { kind: 'whole' }
      // A closed log that gives nothing before its end has lost what comes next.
      if (reading.kind === 'closed' && reading.bytes.length > 0) return reading.bytes
      return { kind: 'broken', problem: tooFarBehind(fingerprint) }
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      return { kind: 'broken', problem: storeLost(fingerprint) }
    }
  }

  #lastOffset(): number {
    return this.#declared === undefined ? Infinity : this.#declared - 1
  }

  /** False where the client is gone or takes nothing. */
  async #write(bytes: Buffer): Promise<boolean> {
    this.#offset += bytes.length
    this.#drained = this.#client.write(bytes)
    if (!this.#drained) await this.#drain()
    this.#onProgress(this.#offset)
    if (this.#drained) return true
    if (!this.#client.gone) this.#client.break()
    return false
  }

  async #drain(): Promise<void> {
    this.#client.onDrain(() => {
      this.#drained = true
      this.#bell.ring()
    })
    const end = performance.now() + STALL_MS
    // News of the answer ring the same bell.
    while (!this.#drained && !this.#client.gone && !this.#lost() && performance.now() < end) {
      await this.#bell.wait(end - performance.now())
    }
  }

  /** There is nothing left to give this client, whenever it takes what it has. */
  #lost(): boolean {
    const { live } = this.#answer
    return live !== undefined && (live.end?.kind === 'broken' || (!live.kept && live.from(this.#offset) === undefined))
  }

  #finish(end: AnswerEnd): Followed {
    if (end.kind === 'whole') {
      this.#client.end()
      return 'whole'
    }
    this.#client.break(end.problem)
    return 'broken'
  }
}

/** The length of the whole body where the upstream declared it. */
export function declaredBytes(head: AnswerHead): number | undefined {
  const declared = headerValue(head.headers, 'content-length')
  return declared === undefined ? undefined : Number(declared)
}

function tooFarBehind(fingerprint: string): Problem {
  return problem('result-not-stored', 'What comes next of this answer is no longer kept.', { fingerprint })
}

function storeLost(fingerprint: string): Problem {
  return problem('store-unavailable', 'The store that keeps this answer is out of reach.', { fingerprint, retryAfterMs: 1000 })
}

function ignore(): void {}
