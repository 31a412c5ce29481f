// The process's log: JSON lines, written in batches.
import pino, { type DestinationStream, type Logger } from 'pino'

export type Log = Logger

/**
 * A batch is written at once by the calling thread: handing each to a thread of its own costs the gateway several times
 * more. What is left at the end of the process is written then.
 */
const BATCH_CHARS = 8192
/** A quiet gateway's lines are seen after this at the latest. */
const FLUSH_EVERY_MS = 100

export function createLog(level = process.env.ONCEGATE_LOG_LEVEL ?? 'info'): Log {
  const batches = new Batches(pino.destination({ sync: true }))
  setInterval(() => batches.flush(), FLUSH_EVERY_MS).unref()
  process.on('exit', () => batches.flush())
  return pino({ level, base: undefined }, batches)
}

/** Gathers lines by itself: pino's destination can too, but reads all that it has gathered again with every line. */
class Batches implements DestinationStream {
  readonly #destination: DestinationStream
  #lines = ''

  constructor(destination: DestinationStream) {
    this.#destination = destination
  }

  write(line: string): void {
    this.#lines += line
    if (this.#lines.length >= BATCH_CHARS) this.flush()
  }

  flush(): void {
    if (this.#lines === '') return
    const lines = this.#lines
    this.#lines = ''
    this.#destination.write(lines)
  }
}
