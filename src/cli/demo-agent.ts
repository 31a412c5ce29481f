// The bundled demo backend: stands for an AI agent API that streams, is slow, and counts how often it was executed.
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sendJson } from './demo-call.ts'
import { ROUTES } from './demo-routes.ts'

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

const MAX_BODY_BYTES = 16 * 1024 * 1024

const UNCOUNTED = ['GET /', 'GET /executions']
const PAGE = readFileSync(new URL('demo-chat.html', import.meta.url))

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
  if (request.method === 'GET' && path === '/') return void response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE)

  const route = ROUTES[`${request.method} ${path}`] ?? ROUTES[`* ${path}`]
  if (route === undefined) return sendJson(response, 404, { error: 'nothing here', routes: [...UNCOUNTED, ...Object.keys(ROUTES)] })
  const fields = route.json ? parseFields(body) : {}
  if (fields === undefined) return sendJson(response, 400, { error: 'the body is not a JSON object' })

  const execution = (counts.get(path) ?? 0) + 1
  counts.set(path, execution)
  log(`${request.method} ${path}: execution ${execution}`)
  await route.run({ request, response, body, fields, execution, closing })
  log(`${request.method} ${path}: execution ${execution} done`)
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

function executionsOf(counts: ReadonlyMap<string, number>): Executions {
  return { total: [...counts.values()].reduce((sum, count) => sum + count, 0), paths: Object.fromEntries(counts) }
}

function urlOf(address: AddressInfo | string | null): string {
  if (address === null || typeof address === 'string') throw new TypeError('not a TCP address')
  return `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`
}
