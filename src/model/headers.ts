// Which header lines belong to a message and which only to one hop of its way.
import type { HeaderList } from './stored-response.ts'

/** RFC 9110 7.6.1, with `Trailer`: trailers are not passed on, so they must not be announced either (6.6.2). */
const HOP_BY_HOP = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade']

/** Headers that only the gateway sets; whoever else sends them is not believed. */
const OWN = [
  'idempotency-fingerprint',
  'idempotency-replayed',
  'idempotency-execution',
  'idempotency-attempt',
  'idempotency-unguarded',
  'oncegate-error',
  'oncegate-trace',
]

const NEVER_PASSED = new Set([...HOP_BY_HOP, ...OWN])

/**
 * The lines that are passed on: end-to-end ones that are not the gateway's own, in their order.
 * `drop` names further headers to leave out, in lower case.
 */
export function passedOn(headers: HeaderList, drop?: ReadonlySet<string>): string[] {
  const named = namedByConnection(headers)
  const passed: string[] = []
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase()
    if (NEVER_PASSED.has(name) || named?.has(name) || drop?.has(name)) continue
    passed.push(headers[i]!, headers[i + 1]!)
  }
  return passed
}

/** RFC 9110 7.6.1: `Connection` lists the headers that are meant for this hop alone. */
function namedByConnection(headers: HeaderList): Set<string> | undefined {
  let named: Set<string> | undefined
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i]!.length !== 10 || headers[i]!.toLowerCase() !== 'connection') continue
    for (const token of headers[i + 1]!.toLowerCase().split(',')) {
      const name = token.trim()
      if (name !== '' && name !== 'keep-alive' && name !== 'close') (named ??= new Set()).add(name)
    }
  }
  return named
}

/** The lines but those of the given names, in lower case. */
export function withoutHeaders(headers: HeaderList, names: ReadonlySet<string>): string[] {
  const kept: string[] = []
  for (let i = 0; i < headers.length; i += 2) {
    if (!names.has(headers[i]!.toLowerCase())) kept.push(headers[i]!, headers[i + 1]!)
  }
  return kept
}

/** The first line of that name (in lower case), or undefined. */
export function headerValue(headers: HeaderList, name: string): string | undefined {
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i]!.length === name.length && headers[i]!.toLowerCase() === name) return headers[i + 1]
  }
  return undefined
}

/** Each line of that name (in lower case). */
export function headerLines(headers: HeaderList, name: string): string[] {
  return headers.filter((_, at) => at % 2 === 1 && headers[at - 1]!.toLowerCase() === name)
}

/** All lines of that name as one comma-separated list (RFC 9110 5.3); undefined where there is none. */
export function listHeader(headers: HeaderList, name: string): string | undefined {
  let joined: string | undefined
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i]!.length !== name.length || headers[i]!.toLowerCase() !== name) continue
    joined = joined === undefined ? headers[i + 1]! : `${joined}, ${headers[i + 1]!}`
  }
  return joined
}

/** A body of text/event-stream whose bytes are its text. */
export function isPlainEventStream(headers: HeaderList): boolean {
  const type = headerValue(headers, 'content-type')?.split(';')[0]!.trim().toLowerCase()
  const coding = headerValue(headers, 'content-encoding')?.trim().toLowerCase() ?? 'identity'
  return type === 'text/event-stream' && coding === 'identity'
}
