// The bytes of answers, in pieces under the execution they belong to: nobody finds those of another by mistake.
import type { Environment } from './environment.ts'
import { inTransaction } from './environment.ts'

/** With the header that LMDB puts before it, a piece of this size fills whole pages. */
const LARGEST_PIECE = 65_536 - 16
/** What LMDB writes at least, whatever is written. */
const SHORT_PIECE = 4096
const END = Number.MAX_SAFE_INTEGER
/** The place in the expiry index of pieces that are to go: before every time. */
export const AT_ONCE = 0

/**
 * Inside a transaction. Must follow what is there already without a gap, or be the last bytes of it once more. A short last piece
 * is written anew with them: a stream of small events becomes few pieces, which the end has to read and the sweep to remove.
 */
export function writePieces({ pieces }: Environment, executionId: string, offset: number, bytes: Buffer): void {
  const last = offset > 0 && bytes.length > 0 ? shortLast(pieces, executionId, offset) : undefined
  const start = last?.start ?? offset
  const all = last === undefined ? bytes : Buffer.concat([last.bytes, bytes])
  for (let at = 0; at < all.length; at += LARGEST_PIECE) {
    inTransaction(pieces.put([executionId, start + at], all.subarray(at, at + LARGEST_PIECE)))
  }
}

/** The piece that ends at the offset, or goes on beyond it, as far as it is before it; undefined where that much is not short. */
function shortLast(pieces: Environment['pieces'], executionId: string, offset: number): { start: number; bytes: Buffer } | undefined {
  const [found] = pieces.getRange({ start: [executionId, offset - 1], end: [executionId, -1], reverse: true, limit: 1 })
  if (found === undefined) return undefined
  const start = found.key[1]
  return offset - start < SHORT_PIECE ? { start, bytes: found.value.subarray(0, offset - start) } : undefined
}

export function readPieces({ pieces }: Environment, executionId: string, offset: number, maxBytes: number): Buffer {
  // The last that begins no later than the offset holds it.
  const [first] = pieces.getKeys({ start: [executionId, offset], end: [executionId, -1], reverse: true, limit: 1 })
  if (first === undefined) return Buffer.alloc(0)
  const slices: Buffer[] = []
  let left = maxBytes
  for (const { key, value } of pieces.getRange({ start: first, end: [executionId, END] })) {
    const from = Math.max(0, offset - key[1])
    const slice = value.subarray(from, from + left)
    slices.push(slice)
    left -= slice.length
    if (left === 0) break
  }
  return slices.length === 1 ? slices[0]! : Buffer.concat(slices)
}

/** Inside a transaction: has the sweep remove the pieces, so that no other verb takes longer for a long log. */
export function dropPieces({ expiry }: Environment, executionId: string): void {
  inTransaction(expiry.put([AT_ONCE, executionId], null))
}

/** Inside a transaction: removes them now, where the same execution is going to write again. */
export function clearPieces(environment: Environment, executionId: string): void {
  removePieces(environment, executionId, Infinity)
}

/** Inside a transaction: removes so many of the pieces, and what tells of them with the last. Returns how many went. */
export function removePieces({ pieces, expiry }: Environment, executionId: string, most: number): number {
  const limit = Number.isFinite(most) ? { limit: most } : {}
  const keys = [...pieces.getKeys({ start: [executionId, 0], end: [executionId, END], ...limit })]
  for (const key of keys) inTransaction(pieces.remove(key))
  if (keys.length < most) inTransaction(expiry.remove([AT_ONCE, executionId]))
  return keys.length
}
