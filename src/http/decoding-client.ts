// Undoes a content coding on the way to a client that does not accept it.
import type { Transform } from 'node:stream'
import { constants, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { ClientStream } from '../idempotency/answer.ts'
import type { Problem } from '../model/problems.ts'
import type { HeaderList } from '../model/stored-response.ts'

/** Each piece is decoded as far as it goes at once: a stream's events do not wait for the next ones. */
const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: () => createGunzip({ flush: constants.Z_SYNC_FLUSH }),
  'x-gzip': () => createGunzip({ flush: constants.Z_SYNC_FLUSH }),
  deflate: () => createInflate({ flush: constants.Z_SYNC_FLUSH }),
  br: () => createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH }),
}

export class DecodingClient implements ClientStream {
  readonly #client: ClientStream
  readonly #decoder: Transform

  constructor(client: ClientStream, coding: string) {
    this.#client = client
    this.#decoder = DECODERS[coding]!()
    this.#decoder.on('data', (chunk: Buffer) => {
      if (client.write(chunk)) return
      this.#decoder.pause()
      client.onDrain(() => this.#decoder.resume())
    })
    this.#decoder.on('end', () => client.end())
    // Not what its Content-Encoding says: what has come out of it so far is not the whole.
    this.#decoder.on('error', () => client.break())
    client.onGone(() => this.#decoder.destroy())
  }

  get gone(): boolean {
    return this.#client.gone
  }

  onGone(listener: () => void): void {
    this.#client.onGone(listener)
  }

  head(status: number, headers: HeaderList): void {
    this.#client.head(status, headers)
  }

  flushHead(): void {
    this.#client.flushHead()
  }

  write(chunk: Buffer): boolean {
    return this.#decoder.destroyed || this.#decoder.write(chunk)
  }

  onDrain(listener: () => void): void {
    this.#decoder.once('drain', listener)
  }

  end(chunk?: Buffer): void {
    if (!this.#decoder.destroyed) this.#decoder.end(chunk)
  }

  break(problem?: Problem): void {
    this.#decoder.destroy()
    this.#client.break(problem)
  }
}
