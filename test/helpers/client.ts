// An HTTP client for tests that tells all: status, raw header lines, bytes, and whether the end was clean.
import http from 'node:http'
import net from 'node:net'

export interface Answer {
  status: number
  /** Name, value, name, value … as they came. */
  rawHeaders: string[]
  headers: http.IncomingHttpHeaders
  body: Buffer
  text: string
  json: () => any
  /** False: the connection broke before the message was complete. */
  whole: boolean
}

export interface SendOptions {
  method?: string
  headers?: Record<string, string | string[]> | string[]
  body?: string | Buffer | object
  agent?: http.Agent
  /** Milliseconds; every test request ends. */
  timeout?: number
  onHead?: (response: http.IncomingMessage) => void
  onData?: (chunk: Buffer) => void
  signal?: AbortSignal
}

/** Sends one request; an object body goes as JSON. Resolves also when the answer breaks off after its head. */
export function send(url: string, options: SendOptions = {}): Promise<Answer> {
  const { method = 'POST', body, timeout = 15_000 } = options
  const json = body !== undefined && typeof body === 'object' && !Buffer.isBuffer(body)
  const bytes = body === undefined ? undefined : Buffer.isBuffer(body) ? body : Buffer.from(json ? JSON.stringify(body) : (body as string))
  const target = new URL(url)
  const lines = headerLines(options.headers)
  const has = (name: string) => lines.some((text, i) => i % 2 === 0 && text.toLowerCase() === name)
  if (!has('host')) lines.push('Host', target.host)
  if (json && !has('content-type')) lines.push('Content-Type', 'application/json')
  if (bytes !== undefined && !has('content-length') && !has('transfer-encoding')) lines.push('Content-Length', String(bytes.length))
  return new Promise((resolve, reject) => {
    const request = http.request(
      {
        host: target.hostname,
        port: target.port,
        method,
        path: url.slice(target.origin.length) || '/',
        headers: lines as unknown as http.OutgoingHttpHeaders,
        agent: options.agent ?? false,
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      },
      (response) => {
        options.onHead?.(response)
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk)
          options.onData?.(chunk)
        })
        const done = () => {
          clearTimeout(timer)
          const all = Buffer.concat(chunks)
          resolve({
            status: response.statusCode!,
            rawHeaders: response.rawHeaders,
            headers: response.headers,
            body: all,
            text: all.toString(),
            json: () => JSON.parse(all.toString()),
            whole: response.complete,
          })
        }
        response.on('end', done).on('error', done).on('close', done)
      },
    )
    const timer = setTimeout(() => request.destroy(new Error(`no answer within ${timeout} ms`)), timeout)
    request.on('error', (error) => {
      clearTimeout(timer)
      reject(error)
    })
    request.end(bytes)
  })
}

function headerLines(headers: SendOptions['headers'] = {}): string[] {
  if (Array.isArray(headers)) return [...headers]
  return Object.entries(headers).flatMap(([name, value]) => (Array.isArray(value) ? value.flatMap((one) => [name, one]) : [name, value]))
}

/** Values of all lines of that name, in order. */
export function lines(answer: Pick<Answer, 'rawHeaders'>, name: string): string[] {
  return answer.rawHeaders.filter((_, i) => i % 2 === 1 && answer.rawHeaders[i - 1]!.toLowerCase() === name.toLowerCase())
}

/** Writes bytes to a socket and resolves with all that came back until it closed, or `quietMs` passed without a byte. */
export function sendRaw(port: number, bytes: string | Buffer, options: { quietMs?: number; end?: boolean } = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1')
    let received = ''
    socket.setTimeout(options.quietMs ?? 500, () => socket.destroy())
    socket.on('data', (chunk) => (received += chunk.toString('latin1')))
    socket.on('close', () => resolve(received))
    socket.on('error', (error: NodeJS.ErrnoException) => (error.code === 'ECONNRESET' ? resolve(received) : reject(error)))
    if (options.end === true) socket.end(bytes)
    else socket.write(bytes)
  })
}
