// Tells watchers that a record was settled or its log has grown, by this process or another one on the same directory.
import type { FSWatcher } from 'node:fs'
import { watch } from 'node:fs'
import { Watchers } from '../watchers.ts'

/** A commit is several writes to the file, and each is an event: wait for the last. */
const SETTLING_MS = 2
/** Where file events do not come (a full inotify table), looking does. */
const POLL_MS = 250
/** Looking takes at most a tenth of the time, however many are watched. */
const SHARE = 10

export class ChangeFeed {
  readonly #file: string
  readonly #stateOf: (fingerprint: string) => string
  readonly #watchers = new Watchers()
  readonly #seen = new Map<string, string>()
  #events: FSWatcher | undefined
  #poll: NodeJS.Timeout | undefined
  #pending: NodeJS.Timeout | undefined
  #notBefore = 0

  /** `stateOf` reads what every settling and every piece changes. */
  constructor(file: string, stateOf: (fingerprint: string) => string) {
    this.#file = file
    this.#stateOf = stateOf
  }

  watch(fingerprint: string, onChange: () => void): () => void {
    if (!this.#watchers.has(fingerprint)) this.#seen.set(fingerprint, this.#stateOf(fingerprint))
    const remove = this.#watchers.add(fingerprint, onChange)
    this.#start()
    return () => {
      remove()
      if (!this.#watchers.has(fingerprint)) this.#seen.delete(fingerprint)
      if (this.#watchers.size === 0) this.#stop()
    }
  }

  /** This process has changed the record. */
  changedHere(fingerprint: string): void {
    if (!this.#watchers.has(fingerprint)) return
    this.#seen.set(fingerprint, this.#stateOf(fingerprint))
    this.#watchers.notify(fingerprint)
  }

  close(): void {
    this.#stop()
    this.#watchers.clear()
    this.#seen.clear()
  }

  #start(): void {
    if (this.#poll !== undefined) return
    this.#poll = setInterval(() => this.#look(), POLL_MS).unref()
    try {
      this.#events = watch(this.#file, { persistent: false }, () => this.#schedule())
      this.#events.on('error', () => this.#events?.close())
    } catch {
      this.#events = undefined
    }
  }

  #stop(): void {
    clearInterval(this.#poll)
    clearTimeout(this.#pending)
    this.#events?.close()
    this.#poll = this.#pending = this.#events = undefined
  }

  #schedule(): void {
    if (this.#pending !== undefined) return
    const wait = Math.max(SETTLING_MS, this.#notBefore - performance.now())
    this.#pending = setTimeout(() => {
      this.#pending = undefined
      this.#look()
    }, wait).unref()
  }

  #look(): void {
    const began = performance.now()
    for (const fingerprint of this.#watchers.fingerprints()) {
      let state: string
      try {
        state = this.#stateOf(fingerprint)
      } catch {
        continue // The next look, or the watcher's own reading, says what is wrong.
      }
      if (state === this.#seen.get(fingerprint)) continue
      this.#seen.set(fingerprint, state)
      this.#watchers.notify(fingerprint)
    }
    const ended = performance.now()
    this.#notBefore = ended + (ended - began) * SHARE
  }
}
