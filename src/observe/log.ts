// The process's log: JSON lines, written in the background so that no request waits for the terminal.
import pino, { type Logger } from 'pino'

export type Log = Logger

export function createLog(level = process.env.ONCEGATE_LOG_LEVEL ?? 'info'): Log {
  return pino({ level, base: undefined }, pino.destination({ sync: false }))
}
