// Writes the log into a pipe whose reader may stop: the gateway never waits for it.
import { Socket } from 'node:net'
import type { DestinationStream } from 'pino'

/** So much waits for a slow reader; what comes then is lost, and counted. */
const MOST_WAITING_BYTES = 4 * 1024 * 1024

let lostInAll = 0

/** Lines that were lost since the process began. */
export function linesLost(): number {
  return lostInAll
}

/**
 * Node's own standard output writes to a pipe and waits until it is taken; so do pino's destinations, on this thread or, at the end of
 * the process, on another.
 */
export class PipeDestination implements DestinationStream {
  readonly #pipe: Socket
  #lost = 0

  constructor(fd: number) {
    this.#pipe = new Socket({ fd, readable: false, writable: true })
    this.#pipe.unref()
    // A reader that has gone away: there is nobody left to be told.
    this.#pipe.on('error', () => {})
    this.#pipe.on('drain', () => this.#tellLoss())
  }

  write(lines: string): void {
    if (this.#pipe.destroyed) return
    if (this.#pipe.writableLength < MOST_WAITING_BYTES) this.#pipe.write(lines)
    else this.#lose(lines.split('\n').length - 1)
  }

  #lose(lines: number): void {
    this.#lost += lines
    lostInAll += lines
  }

  #tellLoss(): void {
    if (this.#lost === 0) return
    const lost = this.#lost
    this.#lost = 0
    this.#pipe.write(`${JSON.stringify({ level: 40, time: Date.now(), lines: lost, msg: 'log lines were lost: nobody read them' })}\n`)
  }
}
