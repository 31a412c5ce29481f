// The log line of a request. There is one for each, so it is put together by hand: pino's general way takes three times as long.
import pino, { type DestinationStream } from 'pino'
import type { Log } from './log.ts'

export interface RequestLine {
  readonly method: string
  /** Without the query: it may carry keys and tokens. */
  readonly path: string
  readonly outcome: string
  readonly status: number | undefined
  /** Why a request that a rule fits was not guarded. */
  readonly reason?: string
  readonly rule?: string
  readonly fingerprint?: string
  /** Milliseconds from its arrival to its answer. */
  readonly ms: number
}

/** Writes to where `log` writes, at its level `info`, the line that `log.info(line, 'request')` would write. */
export function requestLog(log: Log): (line: RequestLine) => void {
  const destination = (log as unknown as Record<symbol, DestinationStream>)[pino.symbols.streamSym]!
  return (line) => {
    if (log.isLevelEnabled('info')) destination.write(write(line))
  }
}

const INFO = pino.levels.values.info!

/** What the gateway or the parser has chosen from a list needs no escaping; a path and the name of a rule do. */
function write({ method, path, outcome, status, reason, rule, fingerprint, ms }: RequestLine): string {
  let text = `{"level":${INFO},"time":${Date.now()},"method":"${method}","path":${JSON.stringify(path)},"outcome":"${outcome}"`
  if (status !== undefined) text += `,"status":${status}`
  if (reason !== undefined) text += `,"reason":"${reason}"`
  if (rule !== undefined) text += `,"rule":${JSON.stringify(rule)}`
  if (fingerprint !== undefined) text += `,"fingerprint":"${fingerprint}"`
  return `${text},"ms":${ms},"msg":"request"}\n`
}
