// One execution of the demo agent, as its routes see it, and what they share.
import type { IncomingMessage, ServerResponse } from 'node:http'

export interface Call {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly body: string
  readonly fields: Readonly<Record<string, unknown>>
  /** This path's how-manieth execution it is. */
  readonly execution: number
  /** Aborted when the agent closes; a client that leaves stops nothing, as with a real agent. */
  readonly closing: AbortSignal
}

const MAX_SECONDS = 600

/** How long the work shall take: the body's `seconds`, if it has a sensible one. */
export function secondsOf({ fields }: Call, otherwise: number): number {
  const { seconds } = fields
  return typeof seconds === 'number' && seconds >= 0 && seconds <= MAX_SECONDS ? seconds : otherwise
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(`${JSON.stringify(value)}\n`)
}

export function startEvents(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  response.flushHeaders()
}
