// A counting upstream for tests: what it was asked, how often, and when it may answer.
import http from 'node:http'
import net from 'node:net'
import type { AddressInfo } from 'node:net'

export interface Received {
  method: string
  url: string
  rawHeaders: string[]
  headers: http.IncomingHttpHeaders
  body: Buffer
}

export type Handler = (request: Received, response: http.ServerResponse, raw: http.IncomingMessage) => void | Promise<void>

export interface TestUpstream {
  url: string
  port: number
  /** Every request whose body arrived, in order. */
  received: Received[]
  /** How often it ran. */
  count: (url?: string) => number
  handle: (handler: Handler) => void
  /** Resolves when the n-th request (from 1) has arrived. */
  arrived: (n: number) => Promise<void>
  server: http.Server
  close: () => Promise<void>
}

/** By default it answers 200 with its count: `{"execution":1}`. */
export async function startUpstream(handler?: Handler): Promise<TestUpstream> {
  const received: Received[] = []
  const waiting: { n: number; resolve: () => void }[] = []
  let handle: Handler = handler ?? ((_request, response) => json(response, 200, { execution: received.length }))
  const server = http.createServer((raw, response) => {
    const chunks: Buffer[] = []
    raw.on('error', () => {})
    response.on('error', () => {})
    raw.on('data', (chunk: Buffer) => chunks.push(chunk))
    raw.on('end', () => {
      const request = { method: raw.method!, url: raw.url!, rawHeaders: raw.rawHeaders, headers: raw.headers, body: Buffer.concat(chunks) }
      received.push(request)
      for (const one of waiting) if (received.length >= one.n) one.resolve()
      void Promise.resolve(handle(request, response, raw)).catch((error: unknown) => response.destroy(error as Error))
    })
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    received,
    count: (url) => received.filter((one) => url === undefined || one.url === url).length,
    handle: (next) => {
      handle = next
    },
    arrived: (n) => (received.length >= n ? Promise.resolve() : new Promise((resolve) => waiting.push({ n, resolve }))),
    server,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export function json(response: http.ServerResponse, status: number, document: unknown): void {
  const body = JSON.stringify(document)
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }).end(body)
}

/** An upstream below HTTP: for each connection that has sent a whole head it writes what it is told to. */
export async function startRawUpstream(
  answer: (socket: net.Socket, request: string, n: number) => void,
): Promise<{ port: number; url: string; count: () => number; close: () => Promise<void> }> {
  let requests = 0
  const sockets = new Set<net.Socket>()
  const server = net.createServer((socket) => {
    sockets.add(socket)
    let text = ''
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      const end = text.indexOf('\r\n\r\n')
      if (end < 0) return
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
      if (text.length < end + 4 + length) return
      const request = text
      text = ''
      answer(socket, request, ++requests)
    })
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    count: () => requests,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A door that stays shut until `open`. */
export function latch(): { open: () => void; opened: Promise<void> } {
  let open!: () => void
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { open, opened }
}
