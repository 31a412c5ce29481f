// The process's log: JSON lines, written in batches.
import pino, { type Logger } from 'pino'

export type Log = Logger

/**
 * A batch is written at once by the calling thread: handing each to a thread of its own costs the gateway several times
 * more. What is left at the end of the process is written then.
 */
const BATCH_BYTES = 8192
/** A quiet gateway's lines are seen after this at the latest. */
const FLUSH_EVERY_MS = 100

export function createLog(level = process.env.ONCEGATE_LOG_LEVEL ?? 'info'): Log {
  const log = pino({ level, base: undefined }, pino.destination({ sync: true, minLength: BATCH_BYTES }))
  setInterval(() => log.flush(), FLUSH_EVERY_MS).unref()
  return log
}
