// One request and its answer on node:http, as the routes pass it around.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ClientStream } from '../idempotency/answer.ts'
import type { HeaderList, StoredResponse } from '../model/stored-response.ts'
import type { ErrorDialect, Problem } from '../model/problems.ts'
import type { RequestTrace } from '../model/trace.ts'
import { headerValue } from '../model/headers.ts'
import { requesterOf } from '../model/jsonrpc/requester.ts'
import { ClientResponse } from './client-response.ts'
import type { Cors } from './cors.ts'
import { EventStreamClient, eventStreamSettings, type StreamedRule, type StreamIds } from './event-stream-client.ts'
import { problemResponse, type ProblemResponse } from './problem-response.ts'
import { addressedReplay, type ReplayBody, replayBody } from './replay-body.ts'
import { parseTarget, type Target } from '../model/target.ts'

const NO_BODY = Buffer.alloc(0)

export class Exchange {
  readonly raw: IncomingMessage
  readonly response: ServerResponse
  readonly client: ClientResponse
  readonly target: Target
  /** The client's address, behind trusted proxies the one they name. */
  readonly ip: string
  /** Of the problems that are sent: the rule's, once it is known. */
  dialect: ErrorDialect = 'problem'
  /** The request's, where it was read: JSON-RPC answers are addressed by it. */
  body: Buffer | undefined
  /** For the log: the rule that fits, and the record that decided. */
  rule: string | undefined
  fingerprint: string | undefined
  /** Where it is traced. */
  trace: RequestTrace | undefined
  readonly #options: { readonly statusPath: string; readonly cors: Cors }

  constructor(raw: IncomingMessage, response: ServerResponse, options: { url: string; ip: string; statusPath: string; cors: Cors }) {
    this.raw = raw
    this.response = response
    this.client = new ClientResponse(response)
    this.target = parseTarget(options.url)
    this.ip = options.ip
    this.#options = options
  }

  /** The last event of a stream that the client has seen (HTML Living Standard 9.2.4). */
  get lastEventId(): string | undefined {
    return headerValue(this.raw.rawHeaders, 'last-event-id')
  }

  /** RFC 9110 10.1.1: `100 Continue` is sent by whoever is ready to read, and only then; `Expect` goes no further. */
  continueReading(): void {
    if (this.raw.headers.expect?.toLowerCase() === '100-continue' && !this.response.headersSent) this.response.writeContinue()
  }

  /** The gateway's own answer, readable to pages of the configured origins. */
  send(status: number, headers: HeaderList, body: Buffer): void {
    this.client.head(status, headers.concat(this.ownHeaders()))
    this.client.end(body.length > 0 && this.raw.method !== 'HEAD' ? body : undefined)
  }

  /** What every answer of the gateway's own carries. */
  ownHeaders(): HeaderList {
    const cors = this.#options.cors(this.raw.headers.origin)
    // An answer before the body was read leaves the rest of it on the connection: it cannot be used again.
    return this.raw.complete ? cors : [...cors, 'Connection', 'close']
  }

  sendProblem(problem: Problem, headers: HeaderList = []): number {
    const { status, headers: own, body } = this.#problemResponse(problem)
    this.send(status, [...own, ...headers], body)
    return status
  }

  /** Where event streams of this rule's answers go: through what the rule puts into them. */
  streamOf(rule: StreamedRule, ids: StreamIds): ClientStream {
    const settings = eventStreamSettings(rule, ids, (problem) => this.#problemResponse(problem).body.toString())
    return settings === undefined ? this.client : new EventStreamClient(this.client, settings)
  }

  #problemResponse(problem: Problem): ProblemResponse {
    return problemResponse(problem, {
      statusPath: this.#options.statusPath,
      accept: this.raw.headers.accept,
      dialect: this.dialect,
      requesterId: this.dialect === 'jsonrpc' && this.body !== undefined ? requesterOf(this.body).id : undefined,
    })
  }

  sendJson(status: number, document: object, headers: HeaderList = []): void {
    const body = Buffer.from(`${JSON.stringify(document)}\n`)
    this.send(
      status,
      ['Content-Type', 'application/json', 'Content-Length', String(body.length), 'Cache-Control', 'no-store', ...headers],
      body,
    )
  }

  async sendReplay(stored: StoredResponse, headers: HeaderList): Promise<void> {
    const plain = headerValue(stored.head.headers, 'content-encoding') === undefined
    if (plain) this.#sendStored(stored, { headers: stored.head.headers, body: stored.body }, headers)
    else this.#sendStored(stored, await replayBody(stored, this.#accepted()), headers)
  }

  /** The replay of a JSON-RPC answer, with the `id` and the progress token of this request. */
  async sendAddressedReplay(stored: StoredResponse, headers: HeaderList): Promise<void> {
    const requester = requesterOf(this.body ?? NO_BODY)
    this.#sendStored(stored, await addressedReplay(stored, this.#accepted(), requester), headers)
  }

  #sendStored(stored: StoredResponse, replay: ReplayBody, headers: HeaderList): void {
    const { status } = stored.head
    const lines = replay.headers.concat(headers)
    if (status !== 204 && status !== 304) lines.push('Content-Length', String(replay.body.length))
    this.send(status, lines, replay.body)
  }

  #accepted(): string {
    return String(this.raw.headers['accept-encoding'] ?? '')
  }

  /** RFC 9110 15.3.3: it is being done; the status page tells what comes of it. */
  sendAccepted(fingerprint: string, status: 'pending' | 'processing'): number {
    const url = `${this.#options.statusPath}/${fingerprint}`
    const headers = ['Location', url, 'Preference-Applied', 'respond-async', 'Idempotency-Fingerprint', fingerprint]
    this.sendJson(202, { fingerprint, status, status_url: url }, headers)
    return 202
  }
}
