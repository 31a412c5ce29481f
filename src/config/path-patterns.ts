// Route patterns of `match.path`: which are valid, which parameters they have, and which hide which.
import FindMyWay from 'find-my-way'

/** The parameters of a pattern, `*` among them; or why it is none. */
export type PatternReading = { readonly params: readonly string[] } | { readonly error: string }

export function readPattern(pattern: string): PatternReading {
  if (pattern !== '*' && !pattern.startsWith('/')) return { error: 'a path starts with /' }
  // A request's path holds neither; a `?` after a parameter makes it optional.
  if (/[#\s]/.test(pattern) || /\?(?!$)/.test(withoutRegExps(pattern)) || /^[^:]*\?$/.test(pattern))
    return { error: 'a path ends before ? and #, and has no spaces' }
  try {
    const router = FindMyWay()
    router.on('POST', pattern, () => undefined)
    // An optional last parameter makes two routes: the longer one has it.
    const params = router.findRoute('POST', pattern.replace(/\?$/, ''))?.params ?? []
    if (new Set(params).size < params.length) return { error: 'two parameters have the same name' }
    return { params }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

function withoutRegExps(pattern: string): string {
  return pattern.replaceAll(/\((?:[^()]|\([^()]*\))*\)/g, '')
}

/** Whether every path that `inner` matches is also matched by `outer`. In doubt it says no. */
export function covers(outer: string, inner: string): boolean {
  return variants(inner).every((one) => variants(outer).some((other) => coversSegments(other.split('/'), one.split('/'))))
}

/** `/a/:id?` is `/a` and `/a/:id`. */
function variants(pattern: string): string[] {
  const full = pattern === '*' ? '/*' : pattern
  if (!full.endsWith('?')) return [full]
  return [full.slice(0, -1), full.slice(0, full.lastIndexOf('/')) || '/']
}

function coversSegments(outer: readonly string[], inner: readonly string[]): boolean {
  for (const [n, segment] of outer.entries()) {
    const other = inner[n]
    if (other === undefined) return false
    if (segment === '*' && n === outer.length - 1) return true
    const same = segment === other
    // `:id` takes any one segment, but not the many that a `*` may stand for.
    if (!same && (!/^:\w+$/.test(segment) || other.includes('*') || other === '') && !sameShape(segment, other)) return false
  }
  return outer.length === inner.length
}

/** Equal but for the names of the parameters; patterns of their own are compared as text. */
function sameShape(one: string, other: string): boolean {
  if (one.includes('(') || other.includes('(')) return one === other
  return withoutNames(one) === withoutNames(other)
}

function withoutNames(segment: string): string {
  return segment.replaceAll(/:\w+/g, ':')
}
