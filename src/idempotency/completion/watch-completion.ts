// `completeOn`: whether a stream that ended cleanly got as far as the text that its rule names.
import { headerLines, headerValue } from '../../model/headers.ts'
import type { HeaderList } from '../../model/stored-response.ts'
import type { Completion, PlainCompletion } from './completion.ts'
import { DecodedCompletion, decoderOf } from './decoded-completion.ts'
import { EventsCompletion } from './events-completion.ts'
import { LinesCompletion } from './lines-completion.ts'
import { TailCompletion } from './tail-completion.ts'

/**
 * Undefined where there is nothing to look for: the answer is complete when it ended cleanly. So it is with every status but 2xx, with
 * every type that is no stream (an error, or a JSON answer of the same route), and where the bytes have a Content-Encoding that cannot be
 * undone here (several at once, or an unknown one). Bytes that are not what their Content-Encoding says are not complete.
 */
export function watchCompletion(completeOn: readonly string[], status: number, headers: HeaderList): Completion | undefined {
  if (status < 200 || status > 299) return undefined
  const plain = plainCompletion(completeOn, headerValue(headers, 'content-type'))
  if (plain === undefined) return undefined
  const codings = headerLines(headers, 'content-encoding')
    .flatMap((line) => line.toLowerCase().split(','))
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity')
  if (codings.length === 0) return new AtOnce(plain)
  const decoder = codings.length === 1 ? decoderOf(codings[0]!) : undefined
  return decoder && new DecodedCompletion(decoder, plain)
}

function plainCompletion(completeOn: readonly string[], contentType: string | undefined): PlainCompletion | undefined {
  const kind = kindOf(contentType)
  return kind && (completeOn.length === 1 ? kind(completeOn[0]!) : new AnyOf(completeOn.map(kind)))
}

function kindOf(contentType: string | undefined): ((text: string) => PlainCompletion) | undefined {
  const type = contentType?.split(';')[0]!.trim().toLowerCase() ?? ''
  if (type === 'text/event-stream') return (text) => new EventsCompletion(text)
  if (OF_LINES.has(type)) return (text) => new LinesCompletion(text)
  return OF_FRAMES.has(type) ? (text) => new TailCompletion(text) : undefined
}

/** One JSON text a line. */
const OF_LINES = new Set([
  'application/x-ndjson',
  'application/ndjson',
  'application/jsonl',
  'application/x-jsonlines',
  'application/jsonlines',
  'application/json-seq',
  'application/stream+json',
])

/** Binary frames. */
const OF_FRAMES = new Set(['application/vnd.amazon.eventstream'])

/** A stream that may end in several ways. */
class AnyOf implements PlainCompletion {
  readonly #each: readonly PlainCompletion[]

  constructor(each: readonly PlainCompletion[]) {
    this.#each = each
  }

  append(piece: Buffer): void {
    for (const one of this.#each) one.append(piece)
  }

  isComplete(): boolean {
    return this.#each.some((one) => one.isComplete())
  }
}

class AtOnce implements Completion {
  readonly #plain: PlainCompletion

  constructor(plain: PlainCompletion) {
    this.#plain = plain
  }

  append(piece: Buffer): boolean {
    this.#plain.append(piece)
    return true
  }

  onDrain(listener: () => void): void {
    listener()
  }

  isComplete(): Promise<boolean> {
    return Promise.resolve(this.#plain.isComplete())
  }

  abandon(): void {}
}
