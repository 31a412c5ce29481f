// The bundled demo backend: stands for an AI agent API that streams, is slow, and counts how often it was executed.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export interface DemoAgentOptions {
  readonly host: string
  /** 0 takes any free port; `url` tells which. */
  readonly port: number
  readonly log?: (line: string) => void
}

export interface DemoAgent {
  readonly url: string
  /** How often each path was executed since the start. */
  executions(): Executions
  close(): Promise<void>
}

export interface Executions {
  readonly total: number
  readonly paths: Readonly<Record<string, number>>
}

interface Call {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly body: string
  readonly fields: Readonly<Record<string, unknown>>
  /** This path's how-manieth execution it is. */
  readonly execution: number
  /** Aborted when the agent closes; a client that leaves stops nothing, as with a real agent. */
  readonly closing: AbortSignal
}

const DEFAULT_SECONDS = 5
const MAX_SECONDS = 600
const MAX_BODY_BYTES = 16 * 1024 * 1024

const WORDS = 'A thing that was asked for twice and done once is done well; whoever asks again hears of the first time.'.split(' ')

/** What runs, and is counted. */
const ROUTES: Readonly<Record<string, (call: Call) => void | Promise<void>>> = {
  'POST /v1/generate': generate,
  'POST /v1/pay': pay,
  'POST /v1/fail': fail,
  '* /echo': echo,
}

export async function startDemoAgent({ host, port, log = () => {} }: DemoAgentOptions): Promise<DemoAgent> {
  const counts = new Map<string, number>()
  const closing = new AbortController()
  const server = createServer((request, response) => {
    serve(request, response, counts, closing.signal, log).catch((error: unknown) => {
      if (!closing.signal.aborted) log(`${request.method} ${request.url} broke off: ${String(error)}`)
      response.destroy()
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return {
    url: urlOf(server.address()),
    executions: () => executionsOf(counts),
    close: () =>
      new Promise((resolve) => {
        closing.abort()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  counts: Map<string, number>,
  closing: AbortSignal,
  log: (line: string) => void,
): Promise<void> {
  const path = (request.url ?? '/').split('?', 1)[0] ?? '/'
  const body = await readBody(request)
  if (body === undefined) return sendJson(response, 413, { error: `more than ${MAX_BODY_BYTES} bytes` })
  if (request.method === 'GET' && path === '/executions') return sendJson(response, 200, executionsOf(counts))

  const run = ROUTES[`${request.method} ${path}`] ?? ROUTES[`* ${path}`]
  if (run === undefined) return sendJson(response, 404, { error: 'nothing here', routes: ['GET /executions', ...Object.keys(ROUTES)] })
  const fields = run === echo ? {} : parseFields(body)
  if (fields === undefined) return sendJson(response, 400, { error: 'the body is not a JSON object' })

  const execution = (counts.get(path) ?? 0) + 1
  counts.set(path, execution)
  log(`${request.method} ${path}: execution ${execution}`)
  await run({ request, response, body, fields, execution, closing })
  log(`${request.method} ${path}: execution ${execution} done`)
}

async function generate({ response, fields, execution, closing }: Call): Promise<void> {
  const { task = null, section = null } = fields
  const seconds = secondsOf(fields['seconds'])
  if (fields['stream'] !== true) {
    await sleep(seconds * 1000, undefined, { signal: closing })
    return sendJson(response, 200, { execution, task, section, text: WORDS.join(' '), written_at: new Date().toISOString() })
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  response.flushHeaders()
  for (const [index, word] of WORDS.entries()) {
    await sleep((seconds * 1000) / WORDS.length, undefined, { signal: closing })
    response.write(`data: ${JSON.stringify({ execution, task, section, index, token: `${word} ` })}\n\n`)
  }
  response.end('data: [DONE]\n\n')
}

function pay({ response, fields, execution }: Call): void {
  const { amount = null, currency = null } = fields
  sendJson(response, 200, { execution, payment: `pay_${execution}`, amount, currency, status: 'succeeded' })
}

/** Every first call fails and the next one works, so that a retry can be seen to help. */
function fail({ response, execution }: Call): void {
  if (execution % 2 === 0) return sendJson(response, 200, { execution, status: 'succeeded' })
  response.setHeader('retry-after', '1')
  sendJson(response, 503, { execution, error: 'overloaded, try again' })
}

function echo({ request, response, body, execution }: Call): void {
  const headers = []
  for (let at = 0; at < request.rawHeaders.length; at += 2) headers.push(request.rawHeaders.slice(at, at + 2))
  sendJson(response, 200, { execution, method: request.method, url: request.url, headers, body })
}

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk)
  }
  return bytes > MAX_BODY_BYTES ? undefined : Buffer.concat(chunks).toString('utf8')
}

function parseFields(body: string): Readonly<Record<string, unknown>> | undefined {
  if (body === '') return {}
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}

function secondsOf(value: unknown): number {
  return typeof value === 'number' && value >= 0 && value <= MAX_SECONDS ? value : DEFAULT_SECONDS
}

function executionsOf(counts: ReadonlyMap<string, number>): Executions {
  return { total: [...counts.values()].reduce((sum, count) => sum + count, 0), paths: Object.fromEntries(counts) }
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(`${JSON.stringify(value)}\n`)
}

function urlOf(address: AddressInfo | string | null): string {
  if (address === null || typeof address === 'string') throw new TypeError('not a TCP address')
  return `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`
}
