// Whether a rule's fingerprint can tell requests apart, and can find what it names.
import { didYouMean } from './did-you-mean.ts'
import { pathsOf } from './lint-order.ts'
import type { Finding, Place } from './mistakes.ts'
import { readPattern } from './path-patterns.ts'
import { parsePathTemplate } from './path-template.ts'
import { asList, asMapping, asTexts, isMapping } from './plain-values.ts'
import { type RuleView } from './rule-view.ts'
import { parseSelector, type Selector } from './selectors.ts'

interface Part {
  readonly name: string
  readonly place: Place
  readonly selectors: readonly { readonly selector: Selector; readonly place: Place }[]
  /** It may be missing without harm, or another source may stand in for it. */
  readonly lenient: boolean
  readonly constant: boolean
  readonly windowed: boolean
}

/** `verifiesTokens`: the file has a `jwt` section. */
export function lintFingerprint(rule: RuleView, verifiesTokens: boolean): { mistakes: Finding[]; warnings: Finding[] } {
  const fingerprint = rule.settings['fingerprint']
  if (fingerprint === undefined) return { mistakes: rule.settings['mode'] === 'off' ? [] : [missing(rule)], warnings: [] }
  if (!isMapping(fingerprint)) return { mistakes: [], warnings: [] }
  const parts = Object.entries(fingerprint).map(([name, value]) => readPart(name, value, [...rule.placeOf('fingerprint'), name]))
  const owner = readPart('owner', { from: rule.settings['owner'] }, rule.placeOf('owner'), [])
  const digest = asTexts(rule.settings['digest']).map((text, n) => readPart('digest', text, [...rule.placeOf('digest'), n]))
  const evidence = readPart('retryEvidence', { from: rule.settings['retryEvidence'] }, rule.placeOf('retryEvidence'), [])
  const where = Object.keys(asMapping(asMapping(rule.settings['match'])['where'])).map((text) =>
    readPart('where', text, [...rule.placeOf('match'), 'where', text]),
  )
  const asked = askedFor(rule)
  const by = asTexts(asMapping(rule.settings['exclusive'])['by'])
  const unique = Object.entries(asMapping(rule.settings['alsoUnique'])).map(([name, value]) =>
    readPart(name, typeof value === 'string' ? value : { from: value }, [...rule.placeOf('alsoUnique'), name], []),
  )
  const exclusive = by.map((text, n) => readPart('exclusive', text, [...rule.placeOf('exclusive'), 'by', n]))
  return {
    mistakes: [
      ...lintNames(parts),
      ...lintVariety(rule, parts),
      ...lintKey(parts),
      ...lintWindows(parts),
      ...[...parts, owner, ...digest, ...where, evidence, ...asked, ...exclusive, ...unique].flatMap((part) => [
        ...lintParams(rule, part),
        ...(verifiesTokens ? [] : lintClaims(part)),
      ]),
    ],
    warnings: [...warnOfOptional(rule, parts), ...warnOfIgnore(rule, parts)],
  }
}

/** The selectors in the path of `onUnknown.ask`. */
function askedFor(rule: RuleView): Part[] {
  const { path } = asMapping(asMapping(rule.settings['onUnknown'])['ask'])
  const place = [...rule.placeOf('onUnknown'), 'ask', 'path']
  try {
    const pieces = typeof path === 'string' ? parsePathTemplate(path) : []
    return pieces.flatMap((piece) => (piece.kind === 'selector' ? [readPart('ask', piece.text, place)] : []))
  } catch {
    // The shape check's to report.
    return []
  }
}

/** The one name that the schema library passes over in silence. */
function lintNames(parts: readonly Part[]): Finding[] {
  return parts
    .filter(({ name }) => name === '__proto__')
    .map(({ place }) => ({ place, at: 'key', message: 'a part cannot have this name', hint: 'choose another one' }))
}

function missing({ label, place }: RuleView): Finding {
  const hint = 'name the parts that make two requests the same, like fingerprint: { key: header.idempotency-key }'
  return { place, at: 'value', message: `rule "${label}" has no fingerprint`, hint }
}

function readPart(name: string, value: unknown, place: Place, below: Place = ['from']): Part {
  const long = asMapping(value)
  const from = typeof value === 'string' ? value : long['from']
  const base = typeof value === 'string' ? place : [...place, ...below]
  const entries = asList(from)
  const texts = entries.flatMap((entry, n) => textsOf(entry, Array.isArray(from) ? [...base, n] : base))
  const selectors = texts.flatMap(({ text, place: at }) => {
    const selector = readSelector(text)
    return selector === undefined ? [] : [{ selector, place: at }]
  })
  const windowed = asList(long['apply']).some((step) => asMapping(step)['window'] !== undefined)
  const lenient = long['optional'] === true || long['default'] !== undefined || entries.length > 1
  return { name, place, selectors, lenient, constant: Object.hasOwn(long, 'value'), windowed }
}

/** The selectors of one entry of a list: itself, one with its trust, or several joined. */
function textsOf(entry: unknown, place: Place): { text: string; place: Place }[] {
  if (typeof entry === 'string') return [{ text: entry, place }]
  const { select, all } = asMapping(entry)
  return [
    ...asTexts(select).map((text) => ({ text, place: [...place, 'select'] })),
    ...asTexts(all).map((text, n) => ({ text, place: [...place, 'all', n] })),
  ]
}

/** Undefined for what the shape check refuses. */
function readSelector(text: string): Selector | undefined {
  try {
    return parseSelector(text)
  } catch {
    return undefined
  }
}

/** Method and path are in every fingerprint: naming them again tells nothing apart. */
function varies({ selectors, constant }: Part): boolean {
  if (constant) return false
  return selectors.length === 0 || selectors.some(({ selector }) => selector.source !== 'method' && selector.source !== 'urlPath')
}

/** A path of which every request is one and the same, unless a part tells them apart. */
function staticPath(rule: RuleView): string | undefined {
  if (rule.settings['scope'] === 'rule') return pathsOf(rule)[0]
  return pathsOf(rule).find((pattern) => {
    const reading = readPattern(pattern)
    return 'params' in reading && reading.params.length === 0 && !pattern.endsWith('*')
  })
}

function lintVariety(rule: RuleView, parts: readonly Part[]): Finding[] {
  const path = staticPath(rule)
  if (path === undefined || parts.some(varies)) return []
  const message = `the fingerprint has no varying part: every request of an owner to ${path} would be one and the same`
  return [
    {
      place: rule.placeOf('fingerprint'),
      at: 'key',
      message,
      hint: 'add a part that is read from the request, like header.idempotency-key or body.id',
    },
  ]
}

function lintKey(parts: readonly Part[]): Finding[] {
  return parts
    .filter(({ name, constant }) => name === 'key' && constant)
    .map(({ place }) => ({
      place,
      at: 'value',
      message: "the part named key is the client's own key: it cannot be a constant",
      hint: 'give the part another name',
    }))
}

/** Each window doubles the names under which a request looks. */
function lintWindows(parts: readonly Part[]): Finding[] {
  return parts
    .filter(({ windowed }) => windowed)
    .slice(MAX_WINDOWS)
    .map(({ place }) => ({
      place,
      at: 'key',
      message: `a fingerprint can have ${MAX_WINDOWS} parts with a window at most`,
      hint: 'keep the window of the one time that tells two wishes apart',
    }))
}

const MAX_WINDOWS = 2

function lintClaims({ selectors }: Part): Finding[] {
  return selectors
    .filter(({ selector }) => selector.source === 'jwt')
    .map(({ place }) => ({
      place,
      at: 'value',
      message: 'there is no jwt section that says how tokens are verified',
      hint: "an unverified claim is anybody's word: add jwt: { jwks: URL } (or publicKeyFile, secret) at the top of the file",
    }))
}

function lintParams(rule: RuleView, part: Part): Finding[] {
  const written = asMapping(rule.settings['match'])['path'] !== undefined
  const known = (written ? pathsOf(rule) : ['']).map((pattern) => {
    const reading = readPattern(pattern)
    return { pattern, params: 'params' in reading ? reading.params : [] }
  })
  // Every pattern was refused: that is mistake enough.
  if (known.length === 0) return []
  return part.selectors.flatMap(({ selector, place }): Finding[] => {
    if (selector.source !== 'path') return []
    const without = known.filter(({ params }) => !params.includes(selector.name))
    if (without.length === 0 || (part.lenient && without.length < known.length)) return []
    const message = written
      ? `match.path ${without[0]?.pattern ?? ''} has no parameter "${selector.name}"`
      : `rule "${rule.label}" has no match.path with a parameter "${selector.name}"`
    const all = [...new Set(known.flatMap(({ params }) => params))]
    const hint =
      didYouMean(selector.name, all) ??
      (all.length === 0 || !written ? `write it into the pattern as :${selector.name}` : `it has ${all.join(', ')}`)
    return [{ place, at: 'value', message, hint }]
  })
}

function warnOfOptional(rule: RuleView, parts: readonly Part[]): Finding[] {
  const path = staticPath(rule)
  const telling = parts.filter(varies)
  const skips = rule.settings['onMissing'] === 'skip'
  const optional = (part: Part): boolean => skips || asMapping(asMapping(rule.settings['fingerprint'])[part.name])['optional'] === true
  if (path === undefined || telling.length === 0 || !telling.every(optional)) return []
  const message = `every varying part may be missing: requests without any of them to ${path} are one and the same`
  return [
    {
      place: rule.placeOf('fingerprint'),
      at: 'key',
      message,
      hint: 'make one part required; onMissing: pass forwards requests without it unguarded',
    },
  ]
}

function warnOfIgnore(rule: RuleView, parts: readonly Part[]): Finding[] {
  const { digest, digestIgnore } = rule.settings
  const compares = digest === undefined ? parts.some(({ name }) => name === 'key') : asTexts(digest).length > 0
  if (compares || asTexts(digestIgnore).length === 0) return []
  return [
    {
      place: rule.placeOf('digestIgnore'),
      at: 'key',
      message: 'digestIgnore has no effect: this rule compares no digest',
      hint: 'name in digest what must agree, like digest: [body]',
    },
  ]
}
