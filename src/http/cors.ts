// Lets pages of the configured origins read the gateway's own answers and replays (CORS, Fetch standard).

const EXPOSED = [
  'Idempotency-Fingerprint',
  'Idempotency-Replayed',
  'Idempotency-Unguarded',
  'Oncegate-Error',
  'Age',
  'Retry-After',
  'Preference-Applied',
].join(', ')

export type Cors = (origin: string | undefined) => string[]

/** Header lines for an answer to a page of `origin`; none where the origin is not configured. */
export function corsHeaders(origins: readonly string[] | undefined): Cors {
  if (origins === undefined) return () => []
  const allowed = new Set(origins)
  const any = allowed.has('*')
  return (origin) => {
    if (origin === undefined) return any ? [] : ['Vary', 'Origin']
    if (allowed.has(origin)) {
      return [
        'Access-Control-Allow-Origin',
        origin,
        'Access-Control-Allow-Credentials',
        'true',
        'Access-Control-Expose-Headers',
        EXPOSED,
        'Vary',
        'Origin',
      ]
    }
    return any ? ['Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers', EXPOSED] : ['Vary', 'Origin']
  }
}
