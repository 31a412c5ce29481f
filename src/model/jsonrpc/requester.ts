// By what a JSON-RPC request wants to be called in its answer, in its own spelling.
import { MessageScanner, type Place } from './message-scanner.ts'

/** JSON texts, as the request has them: `7`, `"7"`, `12345678901234567890`, `null`. Undefined: the request has none. */
export interface Requester {
  readonly id: string | undefined
  /** `params._meta.progressToken` (MCP): by this name the requester knows news of its request. */
  readonly progressToken: string | undefined
}

const NOBODY: Requester = { id: undefined, progressToken: undefined }

/**
 * Reads a request's body: one message, or a list of which no more than one has an id. Of several nobody could say which answer is whose,
 * so they count as none; so does a body that is no JSON.
 */
export function requesterOf(body: Buffer): Requester {
  let found: Partial<Record<Place, string>> = {}
  const requesters: Requester[] = []
  let start = 0
  let at: Place = 'id'
  new MessageScanner({
    member: () => {},
    valueStart: (place, index) => {
      at = place
      start = index
    },
    valueEnd: (end) => (found[at] = body.toString('utf8', start, end)),
    messageEnd: () => {
      const [id, progressToken] = [scalar(found.id), scalar(found.ownProgressToken)]
      if (id !== undefined) requesters.push({ id, progressToken })
      found = {}
    },
  }).scan(body)
  return requesters.length === 1 ? requesters[0]! : NOBODY
}

/** It is written into answers as it is, so it must be JSON. */
function scalar(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  try {
    JSON.parse(text)
    return text
  } catch {
    return undefined
  }
}
