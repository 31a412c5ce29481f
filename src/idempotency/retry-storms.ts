// Notices a fingerprint that is asked for again and again: a client that retries without end, or many that do the same thing.

export interface StormLimits {
  /** More uses than these are a storm. */
  readonly uses: number
  /** Milliseconds that they fall into. */
  readonly within: number
}

export interface Storm {
  readonly rule: string
  readonly fingerprint: string
  /** Milliseconds since 1970, by this gateway's clock. */
  readonly at: number
}

/** One request that was to be guarded, and what it met. */
export interface Use {
  readonly rule: string
  readonly fingerprint: string
  /** When it came: milliseconds of `performance.now()`. */
  readonly since: number
  /** It is the first of its record, as far as is known. */
  readonly first: boolean
  /** How long ago the record began, in milliseconds, where that is known. */
  readonly age: number | undefined
}

/** Times kept, of all fingerprints together: a megabyte. */
const TIMES = 131_072
const REMEMBERED = 50

/**
 * A table of a fixed size: a fingerprint has one place in it, where its latest uses stand, and may lose it to another that falls on
 * the same. First uses, which most are, give way to repeated ones. Counted in this gateway alone.
 */
export class RetryStorms {
  readonly #uses: number
  readonly #within: number
  readonly #mask: number
  /** By place: whose it is, when its latest uses were, as a ring, where that ring begins, and until when it has been told of. */
  readonly #tags: Uint32Array
  readonly #times: Float64Array
  readonly #oldest: Uint8Array
  readonly #told: Float64Array
  readonly #onStorm: (storm: Storm) => void
  readonly #recent: Storm[] = []

  constructor({ uses, within }: StormLimits, onStorm: (storm: Storm) => void) {
    const places = 2 ** Math.floor(Math.log2(TIMES / uses))
    this.#uses = uses
    this.#within = within
    this.#mask = places - 1
    this.#tags = new Uint32Array(places)
    this.#times = new Float64Array(places * uses).fill(-Infinity)
    this.#oldest = new Uint8Array(places)
    this.#told = new Float64Array(places)
    this.#onStorm = onStorm
  }

  /** The latest, the newest first. */
  get recent(): readonly Storm[] {
    return this.#recent
  }

  /** A storm is told once, and while it goes on once more in each `within`. */
  used({ rule, fingerprint, since: now, first, age }: Use): void {
    const tag = tagOf(fingerprint)
    const place = tag & this.#mask
    if (this.#tags[place] !== tag) {
      if (first && this.#isRepeated(place, now)) return
      this.#take(place, tag)
      // Others have counted it before it was met here.
      if (age !== undefined && age < this.#within) this.#add(place, now - age)
    }
    const stormy = this.#times[place * this.#uses + this.#oldest[place]!]! > now - this.#within
    this.#add(place, now)
    if (!stormy || this.#told[place]! > now) return
    this.#told[place] = now + this.#within
    this.#tell({ rule, fingerprint, at: Date.now() })
  }

  /** Whether its owner was asked for at least twice of late. */
  #isRepeated(place: number, now: number): boolean {
    let recent = 0
    for (let n = 0; n < this.#uses; n++) if (this.#times[place * this.#uses + n]! > now - this.#within) recent++
    return recent > 1
  }

  #take(place: number, tag: number): void {
    this.#tags[place] = tag
    for (let n = 0; n < this.#uses; n++) this.#times[place * this.#uses + n] = -Infinity
    this.#oldest[place] = 0
    this.#told[place] = 0
  }

  #add(place: number, at: number): void {
    const oldest = this.#oldest[place]!
    this.#times[place * this.#uses + oldest] = at
    this.#oldest[place] = oldest + 1 === this.#uses ? 0 : oldest + 1
  }

  #tell(storm: Storm): void {
    this.#recent.unshift(storm)
    if (this.#recent.length > REMEMBERED) this.#recent.pop()
    this.#onStorm(storm)
  }
}

const FROM = 14
const TO = 26

/** Thirty-two bits of it. Fingerprints are hashes already, and differ in their middle. */
function tagOf(fingerprint: string): number {
  let hash = 0
  for (let at = FROM; at < TO; at++) hash = Math.imul(hash ^ fingerprint.charCodeAt(at), 0x01000193) + 0x9e3779b9
  return hash >>> 0
}
