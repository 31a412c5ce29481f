// The upstream of a chaos run: records every execution, and answers, stalls or breaks off as the schedule says.
import http from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { bodyPieces } from './body.ts'
import type { EndedEvent, ExecutedEvent } from './history.ts'
import type { Recorder } from './recorder.ts'
import type { UpstreamPlan, Wish } from './schedule.ts'

const GOES_WELL: UpstreamPlan = {
  delayMs: 0,
  status: 200,
  pieces: 1,
  pieceBytes: 0,
  gapMs: 0,
  declared: true,
  end: 'whole',
}

/** With which a client says which of its requests this is. */
const REQUEST_HEADER = 'x-request'

interface Port {
  readonly server: http.Server
  readonly port: number
  readonly sockets: Set<Socket>
}

export class CountingUpstream {
  readonly #recorder: Recorder
  readonly #wishes = new Map<string, Wish>()
  readonly #counts = new Map<string, number>()
  readonly #ports: Port[] = []
  /** Of each wish that was executed. */
  readonly fingerprints = new Map<string, string>()
  #running = 0

  private constructor(recorder: Recorder, wishes: readonly Wish[]) {
    this.#recorder = recorder
    for (const wish of wishes) this.#wishes.set(nameOf(wish.rule, wish.owner, wish.key), wish)
  }

  /** One port a gateway, which tells them apart. */
  static async start(recorder: Recorder, wishes: readonly Wish[], gateways: number): Promise<CountingUpstream> {
    const upstream = new CountingUpstream(recorder, wishes)
    for (let gateway = 0; gateway < gateways; gateway++) {
      const sockets = new Set<Socket>()
      const server = http.createServer((request, response) => void upstream.#receive(gateway, request, response))
      server.keepAliveTimeout = 60_000
      server.on('connection', (socket) => {
        sockets.add(socket)
        socket.on('error', () => undefined)
        socket.on('close', () => sockets.delete(socket))
      })
      server.listen(0, '127.0.0.1')
      await new Promise((resolve) => server.once('listening', resolve))
      upstream.#ports.push({ server, port: (server.address() as AddressInfo).port, sockets })
    }
    return upstream
  }

  url(gateway: number): string {
    return `http://127.0.0.1:${this.#ports[gateway]!.port}`
  }

  get running(): number {
    return this.#running
  }

  /** Nobody listens, and every connection of the gateway breaks, until it is over. */
  async refuse(gateway: number, ms: number): Promise<void> {
    const { server, port, sockets } = this.#ports[gateway]!
    const closed = new Promise((resolve) => server.close(resolve))
    for (const socket of sockets) socket.resetAndDestroy()
    await closed
    await pause(ms)
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  }

  async close(): Promise<void> {
    for (const { server, sockets } of this.#ports) {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    }
  }

  async #receive(gateway: number, request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const text = await bodyOf(request)
    if (text === undefined) return
    const { fact, payload } = JSON.parse(text) as { fact: string; payload: number }
    const { headers } = request
    const rule = request.url!.slice(1)
    const wish = this.#wishes.get(nameOf(rule, String(headers.authorization), fact))
    if (wish === undefined) throw new Error(`nobody wished for this: ${rule} ${fact}`)
    const count = this.#counts.get(wish.id) ?? 0
    this.#counts.set(wish.id, count + 1)
    const plan = wish.plans[count] ?? GOES_WELL
    const executed: ExecutedEvent = {
      type: 'executed',
      at: this.#recorder.now(),
      request: Number(headers[REQUEST_HEADER]),
      gateway,
      rule,
      wish: wish.id,
      payload,
      execution: String(headers['idempotency-execution']),
      attempt: Number(headers['idempotency-attempt']),
      fingerprint: String(headers['idempotency-fingerprint']),
      status: plan.status,
      pieces: plan.pieces,
      pieceBytes: plan.pieceBytes,
    }
    this.#recorder.add(executed)
    this.fingerprints.set(wish.id, executed.fingerprint)
    this.#running++
    const how = await act(executed, plan, response)
    this.#running--
    this.#recorder.add({ type: 'ended', at: this.#recorder.now(), execution: executed.execution, how })
  }
}

type How = EndedEvent['how']

async function act(executed: ExecutedEvent, plan: UpstreamPlan, response: http.ServerResponse): Promise<How> {
  if (plan.end === 'resetBefore') return reset(response)
  await delay(response, plan.delayMs)
  if (response.destroyed) return 'dropped'
  if (plan.end === 'resetAfter') return reset(response)
  const pieces = bodyPieces(executed)
  const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0)
  response.writeHead(plan.status, { 'Content-Type': 'text/event-stream', ...(plan.declared ? { 'Content-Length': bytes } : {}) })
  for (const piece of plan.end === 'cut' ? half(pieces) : pieces.slice(0, -1)) {
    response.write(piece)
    await delay(response, plan.gapMs)
    if (response.destroyed) return 'dropped'
  }
  if (plan.end === 'cut') return reset(response)
  response.end(pieces.at(-1))
  return 'answered'
}

/** Of one piece as well: what is cut is never whole. */
function half(pieces: readonly Buffer[]): Buffer[] {
  const count = Math.floor(pieces.length / 2)
  const next = pieces[count]!
  return [...pieces.slice(0, count), next.subarray(0, Math.ceil(next.length / 2))]
}

function reset(response: http.ServerResponse): How {
  if (response.destroyed || response.socket === null) return 'dropped'
  response.socket.resetAndDestroy()
  return 'reset'
}

/** Ends early when the connection does. */
async function delay(response: http.ServerResponse, ms: number): Promise<void> {
  if (ms === 0 || response.destroyed) return
  const over = new AbortController()
  const closed = (): void => over.abort()
  response.once('close', closed)
  await pause(ms, undefined, { signal: over.signal }).catch(() => undefined)
  response.off('close', closed)
}

function bodyOf(request: http.IncomingMessage): Promise<string | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => resolve(Buffer.concat(chunks).toString()))
    request.on('error', () => resolve(undefined))
    request.on('close', () => resolve(undefined))
  })
}

function nameOf(rule: string, owner: string, key: string): string {
  return `${rule} ${owner} ${key}`
}
