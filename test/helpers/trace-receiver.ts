// Receives spans as a collector would: OTLP over HTTP, in JSON.
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { until } from './until.ts'

export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: Readonly<Record<string, string | number>>
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly failed: boolean
}

export interface TraceReceiver {
  readonly url: string
  readonly spans: readonly ReceivedSpan[]
  /** Everything that was sent, as text. */
  readonly text: () => string
  /** The span of that name which the condition holds for, once it has come. */
  readonly span: (name: string, condition?: (span: ReceivedSpan) => boolean) => Promise<ReceivedSpan>
  readonly close: () => Promise<void>
}

export async function startTraceReceiver(): Promise<TraceReceiver> {
  const spans: ReceivedSpan[] = []
  let text = ''
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      text += body
      if (request.url === '/v1/traces') spans.push(...spansOf(JSON.parse(body) as Export))
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}')
    })
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    text: () => text,
    span: async (name, condition = () => true) => {
      const find = () => spans.find((span) => span.name === name && condition(span))
      await until(`the span ${name}`, () => find() !== undefined, 10_000)
      return find()!
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

interface SentSpan extends Omit<ReceivedSpan, 'attributes' | 'failed'> {
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, string | number>> }[]
  readonly status: { readonly code: number }
}

interface Export {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[] }[]
}

function spansOf({ resourceSpans }: Export): ReceivedSpan[] {
  return resourceSpans
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap((scope) => scope.spans)
    .map(({ attributes, status, ...span }) => ({
      ...span,
      attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]!])),
      failed: status.code === 2,
    }))
}
