// How much room the embedded store has: further executions are refused while there is still enough for those that run.
import { statfsSync } from 'node:fs'
import type { Environment } from './environment.ts'

/** Of `maxSize`: from here on nothing new is granted, from there on no more bodies are kept. The rest is for records, and for pages in transit. */
const GRANT_SHARE = 0.7
const KEEP_SHARE = 0.85
/** Of the disk, but no more than that many bytes: what must be free for a grant. */
const DISK_SHARE = 0.05
const DISK_RESERVE_BYTES = 64 * 1024 ** 2
/** Measuring takes a twentieth of a millisecond. */
const MEASURE_EVERY_MS = 20
const TELL_EVERY_MS = 10_000
const MIB = 1024 ** 2

export interface SpaceOptions {
  readonly directory: string
  /** Undefined: as much as the disk has. */
  readonly maxBytes: number | undefined
  readonly warn: (message: string) => void
}

interface Measure {
  readonly at: number
  readonly usedBytes: number
  /** Free on the disk, and in the file. */
  readonly freeBytes: number
  readonly reserveBytes: number
}

export class Space {
  readonly #environment: Environment
  readonly #options: SpaceOptions
  #last: Measure | undefined
  /** Since the last measuring, by this process. */
  #keptBytes = 0
  #toldAt = -Infinity

  constructor(environment: Environment, options: SpaceOptions) {
    this.#environment = environment
    this.#options = options
  }

  /** Whether there is room for a further execution, and for what those that run may come to. */
  mayGrant(): boolean {
    const { usedBytes, freeBytes, reserveBytes } = this.#measure()
    if (usedBytes < this.#limit(GRANT_SHARE) && freeBytes >= reserveBytes) return true
    this.#tell('new requests get 503 until results have expired')
    return false
  }

  /** Whether there is room for so many bytes of an answer; where there is, they count. */
  mayKeep(bytes: number): boolean {
    if (bytes === 0) return true
    // A disk that others have filled may have room in a moment: there the settling is tried again.
    if (this.#measure().usedBytes + bytes <= this.#limit(KEEP_SHARE)) {
      this.#keptBytes += bytes
      return true
    }
    this.#tell('answers are recorded without their bodies, and duplicates get 409')
    return false
  }

  #limit(share: number): number {
    return (this.#options.maxBytes ?? Infinity) * share
  }

  #measure(): Measure {
    if (this.#last === undefined || performance.now() - this.#last.at > MEASURE_EVERY_MS) {
      const { usedBytes, fileBytes } = this.#environment.size()
      const disk = diskOf(this.#options.directory)
      const freeBytes = disk.freeBytes + fileBytes - usedBytes
      this.#last = { at: performance.now(), usedBytes, freeBytes, reserveBytes: Math.min(DISK_RESERVE_BYTES, disk.allBytes * DISK_SHARE) }
      this.#keptBytes = 0
    }
    const { usedBytes, freeBytes } = this.#last
    return { ...this.#last, usedBytes: usedBytes + this.#keptBytes, freeBytes: freeBytes - this.#keptBytes }
  }

  #tell(consequence: string): void {
    if (performance.now() - this.#toldAt < TELL_EVERY_MS) return
    this.#toldAt = performance.now()
    const { usedBytes, freeBytes } = this.#measure()
    const { maxBytes } = this.#options
    const of = maxBytes === undefined ? '' : ` of ${inMib(maxBytes)} (maxSize)`
    this.#options.warn(
      `the embedded store is full: ${inMib(usedBytes)}${of} in use, ${inMib(freeBytes)} free on its disk; ${consequence}. Make room, or set a shorter ttl or a smaller maxResult`,
    )
  }
}

function inMib(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`
}

/** Where that cannot be told, the disk refuses when it is full. */
function diskOf(directory: string): { allBytes: number; freeBytes: number } {
  try {
    const { bsize, blocks, bavail } = statfsSync(directory)
    return { allBytes: bsize * blocks, freeBytes: bsize * bavail }
  } catch {
    return { allBytes: 0, freeBytes: Infinity }
  }
}
