// What a fake API says: enough of its protocol for the real client, and a text that tells which execution wrote it.
import type { ServerResponse } from 'node:http'
import type { Received } from '../../helpers/upstream.ts'

export interface Reply {
  /** `Content-Type`. */
  type: string
  body: string | Buffer
}

export interface Api {
  /** Answers what is no execution (handshakes, lists) and says that it did. */
  aside?: (request: Received, response: ServerResponse) => boolean
  /** What one execution answers, so that its client reads this text. */
  reply: (request: Received, text: string) => Reply
}

/** The text of the n-th execution. It is long enough to be cut in its middle, and no execution's text begins another's. */
export function textOf(execution: number): string {
  return `Execution ${execution} wrote this text, and wrote it once.`
}

/** As a model says it: in pieces. */
export function words(text: string): string[] {
  return text.match(/\S+\s*/g) ?? []
}

export function json(document: object): Reply {
  return { type: 'application/json', body: JSON.stringify(document) }
}

/** Server-sent events; a text stands in its event as it is. */
export function events(list: readonly { id?: number; event?: string; data: object | string }[]): Reply {
  const lines = list.map(({ id, event, data }) => [
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...(event === undefined ? [] : [`event: ${event}`]),
    `data: ${typeof data === 'string' ? data : JSON.stringify(data)}`,
    '\n',
  ])
  return { type: 'text/event-stream', body: lines.map((event) => event.join('\n')).join('') }
}
