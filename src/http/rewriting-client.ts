// Addresses a JSON-RPC answer to another requester on its way to the client.
import type { ClientStream } from '../idempotency/answer.ts'
import { headerValue, withoutHeaders } from '../model/headers.ts'
import { type BodyRewriter, bodyRewriter } from '../model/jsonrpc/body-rewriter.ts'
import type { Requester } from '../model/jsonrpc/requester.ts'
import type { Problem } from '../model/problems.ts'
import type { HeaderList } from '../model/stored-response.ts'

/** The bytes may become more or fewer. */
const LENGTH = new Set(['content-length'])

/** The bytes it is given have no content coding. */
export class RewritingClient implements ClientStream {
  readonly #client: ClientStream
  readonly #requester: Requester
  #rewriter: BodyRewriter | undefined

  constructor(client: ClientStream, requester: Requester) {
    this.#client = client
    this.#requester = requester
  }

  get gone(): boolean {
    return this.#client.gone
  }

  onGone(listener: () => void): void {
    this.#client.onGone(listener)
  }

  head(status: number, headers: HeaderList): void {
    this.#rewriter = bodyRewriter(headerValue(headers, 'content-type'), this.#requester)
    this.#client.head(status, this.#rewriter === undefined ? headers : withoutHeaders(headers, LENGTH))
  }

  flushHead(): void {
    this.#client.flushHead()
  }

  write(chunk: Buffer): boolean {
    const bytes = this.#rewriter?.push(chunk) ?? chunk
    return bytes.length === 0 || this.#client.write(bytes)
  }

  onDrain(listener: () => void): void {
    this.#client.onDrain(listener)
  }

  end(chunk?: Buffer): void {
    if (chunk !== undefined) this.write(chunk)
    const last = this.#rewriter?.end()
    this.#client.end(last === undefined || last.length === 0 ? undefined : last)
  }

  break(problem?: Problem): void {
    this.#client.break(problem)
  }
}
