// Names one execution: a UUIDv7 (RFC 9562 5.7), which sorts by the time it was made.
import { randomUUID } from 'node:crypto'

/**
 * Node's own version 4 UUID, whose randomness is drawn in batches, with its first 48 bits replaced by the milliseconds
 * since the epoch and the version set: what follows, variant and random bits, is the same in both.
 */
export function newExecutionId(): string {
  const now = Date.now()
  if (now !== latest.at) latest = { at: now, text: firstBits(now) }
  return latest.text + randomUUID().slice(15)
}

/** Requests that come within one millisecond begin alike. */
let latest = { at: 0, text: firstBits(0) }

function firstBits(milliseconds: number): string {
  const time = milliseconds.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7`
}
