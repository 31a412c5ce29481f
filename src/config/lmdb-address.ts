// What `lmdb:` may say: a folder, and how large the store may grow.
import { SIZE_PATTERN, parseSize } from './units.ts'

export interface LmdbAddress {
  readonly directory: string
  /** Undefined: as much as the disk has. */
  readonly maxBytes: number | undefined
}

/** Less could not hold a single large answer. */
export const LEAST_BYTES = 1024 ** 2

/** Throws a RangeError that says what is wrong. */
export function readLmdbAddress(text: string): LmdbAddress {
  const [, directory = '', query = ''] = /^lmdb:([^?]*)\??(.*)$/s.exec(text) ?? []
  if (directory === '') throw new RangeError('lmdb: needs a folder, as in lmdb:./data')
  let maxBytes: number | undefined
  for (const [name, value] of new URLSearchParams(query)) {
    if (name !== 'maxSize') throw new RangeError(`lmdb: takes ?maxSize=<size>, and no "${name}"`)
    if (!SIZE_PATTERN.test(value)) throw new RangeError('maxSize is a size: a number and one of B, KiB, MiB, GiB, kB, MB, GB (like 4GiB)')
    maxBytes = parseSize(value)
    if (maxBytes < LEAST_BYTES) throw new RangeError('maxSize is at least 1MiB')
  }
  return { directory, maxBytes }
}
