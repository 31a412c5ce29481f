// One streamed answer while it is being made: its newest bytes, and everybody in this process who follows it.
import type { AnswerHead } from '../model/stored-response.ts'
import type { Problem } from '../model/problems.ts'

export type AnswerEnd = { readonly kind: 'whole' } | { readonly kind: 'broken'; readonly problem: Problem }

/** So much of the newest is kept for those who keep up; older bytes are read from the store. */
const WINDOW_BYTES = 262_144

const GATHER_BYTES = 65_536

const NOTHING = Buffer.alloc(0)

interface Piece {
  readonly start: number
  readonly bytes: Buffer
}

/**
 * Fed by the execution itself, or in another process by whoever reads the store's log there. Bytes at or above the floor are
 * never dropped, so that whoever is there can be served although the store has not got them yet.
 */
export class LiveAnswer {
  readonly head: AnswerHead
  readonly #listeners: (() => void)[] = []
  #pieces: Piece[] = []
  #length = 0
  #floor = 0
  #end: AnswerEnd | undefined
  /** False: it is over `maxResult`, or the store has lost it; what is no longer here is nowhere. */
  kept = true
  /** Told when the last follower has left. */
  onDeserted: (() => void) | undefined

  constructor(head: AnswerHead) {
    this.head = head
  }

  get length(): number {
    return this.#length
  }

  /** Undefined while it is being made. */
  get end(): AnswerEnd | undefined {
    return this.#end
  }

  get followers(): number {
    return this.#listeners.length
  }

  push(bytes: Buffer): void {
    if (bytes.length === 0) return
    this.#pieces.push({ start: this.#length, bytes })
    this.#length += bytes.length
    this.#trim()
    this.#tell()
  }

  /** Bytes below `offset` are to be had elsewhere, or wanted by nobody. */
  raiseFloor(offset: number): void {
    this.#floor = Math.max(this.#floor, offset)
    this.#trim()
  }

  finish(end: AnswerEnd): void {
    this.#end ??= end
    this.#tell()
  }

  /** Bytes from the offset on, empty where there are none yet; undefined where they are no longer here. */
  from(offset: number): Buffer | undefined {
    if (offset >= this.#length) return NOTHING
    const first = this.#pieces.findLastIndex(({ start }) => start <= offset)
    if (first < 0) return undefined
    const { start, bytes } = this.#pieces[first]!
    const rest = bytes.subarray(offset - start)
    return first === this.#pieces.length - 1 ? rest : this.#gather(rest, first + 1)
  }

  /** Who catches up gets many small pieces in one. */
  #gather(rest: Buffer, next: number): Buffer {
    const gathered = [rest]
    let length = rest.length
    for (let n = next; n < this.#pieces.length && length < GATHER_BYTES; n++) {
      gathered.push(this.#pieces[n]!.bytes)
      length += this.#pieces[n]!.bytes.length
    }
    return gathered.length === 1 ? rest : Buffer.concat(gathered)
  }

  /** Calls back after every change, until the returned function is called. */
  listen(onChange: () => void): () => void {
    this.#listeners.push(onChange)
    return () => {
      const at = this.#listeners.indexOf(onChange)
      if (at < 0) return
      this.#listeners.splice(at, 1)
      if (this.#listeners.length === 0) this.onDeserted?.()
    }
  }

  #tell(): void {
    for (const listener of this.#listeners.slice()) listener()
  }

  #trim(): void {
    const droppable = Math.min(this.#floor, this.#length - WINDOW_BYTES)
    let count = 0
    for (const { start, bytes } of this.#pieces) {
      if (start + bytes.length > droppable) break
      count++
    }
    if (count > 0) this.#pieces = this.#pieces.slice(count)
  }
}
