// The process's log: JSON lines, written in the background and in batches, so that no request waits for the terminal.
import pino, { type Logger } from 'pino'

export type Log = Logger

const BATCH_BYTES = 4096
/** A quiet gateway's lines are seen after this at the latest. */
const FLUSH_EVERY_MS = 200

export function createLog(level = process.env.ONCEGATE_LOG_LEVEL ?? 'info'): Log {
  const log = pino({ level, base: undefined }, pino.destination({ sync: false, minLength: BATCH_BYTES }))
  flushNowAndThen(log)
  return log
}

/** The next flush waits for the last one: a reader that has stopped must not pile them up. */
function flushNowAndThen(log: Log): void {
  setTimeout(() => log.flush(() => flushNowAndThen(log)), FLUSH_EVERY_MS).unref()
}
