// Reads the request target (RFC 9112 3.2) without changing it.

export interface Target {
  /** Path and query as they came, always beginning with `/`: what the upstream is asked for. */
  readonly pathAndQuery: string
  readonly path: string
  /** What follows the first `?`; undefined where there is none. */
  readonly query: string | undefined
}

/**
 * An absolute-form target (`GET http://other.example/x`) loses its authority: the upstream is fixed by the configuration,
 * and nothing in a request can change it. A fragment is never part of a target; what looks like one is dropped.
 */
export function parseTarget(raw: string): Target {
  let pathAndQuery = raw.startsWith('/') || raw === '*' ? raw : raw.replace(/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#]*/, '')
  const fragment = pathAndQuery.indexOf('#')
  if (fragment >= 0) pathAndQuery = pathAndQuery.slice(0, fragment)
  if (!pathAndQuery.startsWith('/')) pathAndQuery = `/${pathAndQuery === '*' ? '' : pathAndQuery}`
  const mark = pathAndQuery.indexOf('?')
  if (mark < 0) return { pathAndQuery, path: pathAndQuery, query: undefined }
  return { pathAndQuery, path: pathAndQuery.slice(0, mark), query: pathAndQuery.slice(mark + 1) }
}
