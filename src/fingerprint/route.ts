// Which rule guards a request: the first in the file's order whose pattern fits, whatever spelling the path came in.
import FindMyWay from 'find-my-way'
import type { Rule } from './compile-rule.ts'
import type { RequestContext } from './request-context.ts'
import { canonicalPath, canonicalPathWithSlash, isPlainPath, readings } from './path-readings.ts'

export interface Matched {
  readonly kind: 'matched'
  readonly rule: Rule
  /** Decoded path parameters. */
  readonly params: Record<string, string>
  /** The pattern that fits; empty for a rule without paths. */
  readonly pattern: string
  /** See PathMatch. */
  readonly context?: RequestContext | undefined
}

/** Rules with `where`, in the file's order, and the one without that ends the list, if there is one: the request decides. */
export interface Choice {
  readonly kind: 'choice'
  readonly options: readonly Matched[]
}

export type RouteMatch = Matched | Choice | { readonly kind: 'unmatched' } | { readonly kind: 'ambiguous'; readonly detail: string }

interface Candidate {
  readonly rule: Rule
  readonly pattern: string
  /** The parameters where the canonical path fits. */
  readonly fit: (path: string) => Record<string, string> | undefined
}

const UNMATCHED = { kind: 'unmatched' } as const
/** Safe methods that are never guarded, whatever a rule says (RFC 9110 section 9.2.1). */
const NEVER = new Set(['HEAD', 'OPTIONS', 'TRACE', 'CONNECT'])

export function compileRoutes(rules: readonly Rule[]): (method: string, path: string) => RouteMatch {
  const byMethod = new Map<string, Candidate[]>()
  for (const rule of rules) {
    const candidates = candidatesOf(rule)
    for (const method of new Set(rule.config.match.methods)) {
      if (!NEVER.has(method)) byMethod.set(method, [...(byMethod.get(method) ?? []), ...candidates])
    }
  }
  return (method, path) => {
    const candidates = byMethod.get(method)
    if (candidates === undefined) return UNMATCHED
    return isPlainPath(path) ? (first(candidates, path) ?? UNMATCHED) : careful(candidates, path)
  }
}

/** Of spellings of one path, the first that a candidate fits. */
function first(candidates: readonly Candidate[], ...paths: readonly string[]): Matched | Choice | undefined {
  let options: Matched[] | undefined
  for (const candidate of candidates) {
    const match = fitOf(candidate, paths)
    if (match === undefined) continue
    if (match.rule.where === undefined && options === undefined) return match
    options = [...(options ?? []), match]
    if (match.rule.where === undefined) break
  }
  return options && { kind: 'choice', options }
}

function fitOf({ rule, pattern, fit }: Candidate, paths: readonly string[]): Matched | undefined {
  for (const path of paths) {
    const params = fit(path)
    if (params !== undefined) return { kind: 'matched', rule, params, pattern }
  }
  return undefined
}

/** A path that others may read otherwise must not mean another rule to them, nor slip past this one. */
function careful(candidates: readonly Candidate[], path: string): RouteMatch {
  const canonical = canonicalPath(path)
  // Neither origin-form nor absolute-form (RFC 9112 section 3.2): `*` and the like name no resource.
  if (!canonical.startsWith('/')) return UNMATCHED
  const match = first(candidates, canonical, canonicalPathWithSlash(path))
  const { others, suspicious } = readings(path)
  for (const other of others) {
    const rules = rulesOf(first(candidates, other))
    if (rules[0] !== undefined && (suspicious || !sameRules(rules, rulesOf(match)))) return ambiguous(rules[0])
  }
  const [guarding] = rulesOf(match)
  if (guarding !== undefined && suspicious) return ambiguous(guarding)
  return match ?? UNMATCHED
}

function rulesOf(match: Matched | Choice | undefined): readonly Rule[] {
  if (match === undefined) return []
  // Several patterns of one rule may fit: it is one rule all the same.
  return match.kind === 'matched' ? [match.rule] : [...new Set(match.options.map(({ rule }) => rule))]
}

function sameRules(one: readonly Rule[], other: readonly Rule[]): boolean {
  return one.length === other.length && one.every((rule, n) => rule === other[n])
}

function ambiguous(rule: Rule): RouteMatch {
  const detail = `The path can be read as one that the rule "${rule.config.name}" guards. Send it without dot segments and needless escapes.`
  return { kind: 'ambiguous', detail }
}

function candidatesOf(rule: Rule): Candidate[] {
  const { paths } = rule.config.match
  if (paths.length === 0) return [{ rule, pattern: '', fit: () => ({}) }]
  return paths.map((pattern) => ({ rule, pattern, fit: matcher(pattern) }))
}

function matcher(pattern: string): Candidate['fit'] {
  const router = FindMyWay({
    caseSensitive: false,
    ignoreDuplicateSlashes: true,
    // A parameter too long to be looked at would be a way past the rule.
    maxParamLength: Number.MAX_SAFE_INTEGER,
    querystringParser: () => undefined,
  })
  router.on('GET', pattern.length > 1 ? pattern.replace(/\/$/, '') : pattern, () => {})
  return (path) => {
    const dotted = DOTTED_I.test(path) ? standIn(path) : undefined
    const found = router.find('GET', dotted?.path ?? path)
    if (found === null) return undefined
    const params: Record<string, string> = {}
    for (const [name, value = ''] of Object.entries(found.params)) params[name] = dotted?.restore(value) ?? value
    return params
  }
}

// U+0130 is the one character that grows in lower case; find-my-way would lose count behind it and miss the rule.
const DOTTED_I = /%C4%B0/

function standIn(path: string): { path: string; restore: (text: string) => string } {
  let code = 0xe000
  while (path.includes(encodeURIComponent(String.fromCharCode(code)))) code++
  const other = String.fromCharCode(code)
  return { path: path.replaceAll('%C4%B0', encodeURIComponent(other)), restore: (text) => text.replaceAll(other, '\u0130') }
}
