// The process's log: JSON lines on standard output, written in batches.
import { fstatSync } from 'node:fs'
import pino, { type DestinationStream, type Logger } from 'pino'
import { PipeDestination } from './pipe-destination.ts'

export type Log = Logger

/**
 * A batch is written at once by the calling thread: handing each to a thread of its own costs the gateway several times
 * more. What is left at the end of the process is written then.
 */
const BATCH_CHARS = 8192
/** A quiet gateway's lines are seen after this at the latest. */
const FLUSH_EVERY_MS = 100

const STANDARD_OUTPUT = 1

export function createLog(level = process.env.ONCEGATE_LOG_LEVEL ?? 'info'): Log {
  const batches = new Batches(standardOutput())
  setInterval(() => batches.flush(), FLUSH_EVERY_MS).unref()
  process.on('exit', () => batches.flush())
  return pino({ level, base: undefined }, batches)
}

/** A file or a terminal takes what it is given; behind a pipe is somebody who may stop reading. */
function standardOutput(): DestinationStream {
  const stats = fstatSync(STANDARD_OUTPUT)
  return stats.isFIFO() || stats.isSocket() ? new PipeDestination(STANDARD_OUTPUT) : pino.destination({ sync: true })
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
