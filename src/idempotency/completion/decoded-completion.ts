// A completion check behind a Content-Encoding: the bytes are decoded as they come, and only looked at.
import type { Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { Completion, PlainCompletion } from './completion.ts'

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
}

/** Undefined for a coding that is not known. */
export function decoderOf(coding: string): Transform | undefined {
  return Object.hasOwn(DECODERS, coding) ? DECODERS[coding]!() : undefined
}

export class DecodedCompletion implements Completion {
  readonly #decoder: Transform
  readonly #ended: Promise<boolean>

  constructor(decoder: Transform, plain: PlainCompletion) {
    this.#decoder = decoder
    decoder.on('data', (piece: Buffer) => plain.append(piece))
    this.#ended = new Promise((resolve) => {
      decoder.once('end', () => resolve(plain.isComplete()))
      decoder.on('error', () => resolve(false))
    })
  }

  append(piece: Buffer): boolean {
    // Once the decoder has failed, the answer is known; a piece after its end does no harm.
    return this.#decoder.destroyed || this.#decoder.write(piece)
  }

  onDrain(listener: () => void): void {
    if (this.#decoder.destroyed || !this.#decoder.writableNeedDrain) listener()
    else onceOf(this.#decoder, ['drain', 'close'], listener)
  }

  isComplete(): Promise<boolean> {
    if (!this.#decoder.destroyed) this.#decoder.end()
    return this.#ended
  }

  abandon(): void {
    this.#decoder.destroy()
  }
}

/** A decoder that fails never drains. */
function onceOf(decoder: Transform, events: readonly string[], listener: () => void): void {
  const once = (): void => {
    for (const event of events) decoder.off(event, once)
    listener()
  }
  for (const event of events) decoder.on(event, once)
}
