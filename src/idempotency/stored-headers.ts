// Which response headers a replay carries.
import type { HeaderList } from '../model/stored-response.ts'

/** Meant for the first client alone: credentials and challenges … */
const FIRST_CLIENT_ONLY = new Set(['set-cookie', 'www-authenticate', 'authentication-info'])
/** … and what belongs to the hop before or to its origin (CORS). */
const FIRST_CLIENT_PREFIXES = ['proxy-', 'access-control-']

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
    if (isFirstClientOnly(name) && !names(add, name)) continue
    stored.push(headers[i]!, headers[i + 1]!)
  }
  return stored
}

function isFirstClientOnly(name: string): boolean {
  return FIRST_CLIENT_ONLY.has(name) || FIRST_CLIENT_PREFIXES.some((prefix) => name.startsWith(prefix))
}

/** The configuration's names are in lower case already. */
function names(list: readonly string[], name: string): boolean {
  return list.length > 0 && list.includes(name)
}
