// Which response headers a replay carries.
import type { HeaderList } from '../model/stored-response.ts'

/** Meant for the first client alone: credentials, challenges, and what belongs to its origin (CORS). */
const FIRST_CLIENT_ONLY = /^(?:set-cookie|www-authenticate|authentication-info|proxy-.*|access-control-.*)$/

/** A replay is framed anew. */
const FRAMING = 'content-length'

export interface ReplayHeaders {
  /** Kept although they are not by default. */
  readonly add: readonly string[]
  readonly drop: readonly string[]
}

/** The lines to store, in their order, repeated names and all. */
export function storedHeaders(headers: HeaderList, { add, drop }: ReplayHeaders): string[] {
  const stored: string[] = []
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase()
    if (name === FRAMING || names(drop, name)) continue
    if (FIRST_CLIENT_ONLY.test(name) && !names(add, name)) continue
    stored.push(headers[i]!, headers[i + 1]!)
  }
  return stored
}

function names(list: readonly string[], name: string): boolean {
  return list.some((listed) => listed.toLowerCase() === name)
}
