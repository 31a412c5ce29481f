// How one request is identified, told by the very functions that identify it. Pure.
import { groupOf } from '../model/group.ts'
import { problem, problemStatus, type Problem } from '../model/problems.ts'
import type { Rule } from './compile-rule.ts'
import { fieldNames } from './digest-fields.ts'
import { explainChoice, type RuleVerdict } from './explain-choice.ts'
import { identify, type Identified } from './identify.ts'
import type { FingerprintKeys } from './keys.ts'
import { plain, type Plain } from './plain.ts'
import type { RequestParts } from './request-parts.ts'
import { compileRoutes, type RouteMatch } from './route.ts'
import type { Watch } from './watch.ts'
import { choiceReadsClaims, chooseRule, type Chosen } from './where.ts'

export interface ExplainedSource {
  readonly selector: string
  readonly trust: number
  /** Empty: absent. */
  readonly raw: readonly Plain[]
  readonly steps: { readonly step: string; readonly values: readonly Plain[] }[]
}

export interface DroppedSource {
  readonly selector: string
  readonly trust: number
  readonly reason: string
}

export interface ExplainedPart {
  readonly name: string
  /** Never asked. */
  readonly dropped: readonly DroppedSource[]
  /** In the order in which they were asked; the last is the chosen one, if any is. */
  readonly tried: readonly ExplainedSource[]
  /** Null: a constant or the default stands in, or the part is left out or missing. */
  readonly source: string | null
  /** Null: left out or missing. */
  readonly canonical: string | null
}

export interface Explanation {
  readonly rules: readonly RuleVerdict[]
  readonly rule: string | null
  readonly outcome: 'guarded' | 'unguarded' | 'refused' | 'unmatched' | 'off'
  readonly reason?: string
  readonly problem?: { readonly name: string; readonly status: number; readonly detail: string }
  readonly parts: readonly ExplainedPart[]
  readonly owner: { readonly kind: 'none' | 'absent' | 'known'; readonly source: string | null; readonly tag?: string } | null
  readonly fingerprint: string | null
  /** Further names that the same fact may be kept under, for the sake of a window. */
  readonly aliases: readonly string[]
  /** Of the facts of one group one is executed at a time; null: it excludes none. */
  readonly group: string | null
  /** Further names that belong to this fact alone. */
  readonly alsoUnique: readonly { readonly name: string; readonly as: string }[]
  readonly digest: string | null
  /** The fields that a mismatch could name. */
  readonly digestFields: readonly string[]
  readonly firstTry: boolean
}

/** `badToken`: what the gateway answers once a rule reads claims of this request's token. */
export function explain(rules: readonly Rule[], request: RequestParts, keys: FingerprintKeys, badToken?: Problem): Explanation {
  const chosen = choose(compileRoutes(rules)(request.method, request.path), request, badToken)
  const matched = chosen.kind === 'matched' ? chosen : undefined
  const base = { ...NOTHING, rules: explainChoice(rules, request, matched), rule: matched?.rule.config.name ?? null }
  if (chosen.kind === 'refused') return { ...base, ...refused(chosen.problem) }
  if (matched === undefined) return { ...base, outcome: 'unmatched', reason: 'no rule matches: forwarded untouched' }
  if (matched.rule.config.mode === 'off') return { ...base, outcome: 'off', reason: 'the rule is off: forwarded unguarded' }
  if (matched.rule.readsClaims && badToken !== undefined) return { ...base, ...refused(badToken) }
  const { maxBody } = matched.rule.config
  if (request.body.length > maxBody)
    return { ...base, ...refused(problem('body-too-large', `The body is over the rule's maxBody of ${maxBody} bytes.`)) }
  const watcher = new Watcher()
  const identified = identify(matched.rule, request, matched, keys, watcher)
  return { ...base, parts: watcher.read(), owner: watcher.seenOwner, ...result(identified, watcher) }
}

const NOTHING = {
  parts: [],
  owner: null,
  fingerprint: null,
  aliases: [],
  group: null,
  alsoUnique: [],
  digest: null,
  digestFields: [],
  firstTry: false,
} as const

function choose(route: RouteMatch, request: RequestParts, badToken: Problem | undefined): Chosen {
  if (route.kind === 'matched' || route.kind === 'unmatched') return route
  if (route.kind === 'ambiguous') return { kind: 'refused', problem: problem('path-ambiguous', route.detail) }
  if (badToken !== undefined && choiceReadsClaims(route.options)) return { kind: 'refused', problem: badToken }
  return chooseRule(route.options, request)
}

function refused(made: Problem): Pick<Explanation, 'outcome' | 'problem'> {
  return { outcome: 'refused', problem: { name: made.name, status: problemStatus(made), detail: made.detail } }
}

function result(identified: Identified, { seenOwner }: Watcher): Partial<Explanation> & Pick<Explanation, 'outcome'> {
  if (identified.kind === 'refused') return refused(identified.problem)
  if (identified.kind === 'unguarded') {
    const why = identified.reason === 'no-owner' ? 'nobody can be told to own it' : 'a part is missing'
    return { outcome: 'unguarded', reason: `${why}: forwarded unguarded` }
  }
  const { fingerprint, aliases = [], alsoUnique, digest, digestFields, owner, firstTry } = identified.operation
  return {
    outcome: 'guarded',
    owner: seenOwner && { ...seenOwner, ...(owner !== '' && { tag: owner }) },
    fingerprint,
    aliases,
    group: groupOf(fingerprint) ?? null,
    alsoUnique: alsoUnique?.labels.map((name, n) => ({ name, as: alsoUnique.names[n]! })) ?? [],
    digest: digest === '' ? null : digest,
    digestFields: fieldNames(digestFields),
    firstTry,
  }
}

class Watcher implements Watch {
  seenOwner: Explanation['owner'] = null
  readonly #parts: ExplainedPart[] = []
  #tried: ExplainedSource[] = []
  #dropped: DroppedSource[] = []
  #reading = ''

  readonly dropped: Watch['dropped'] = (part, { text, trust }, reason) => {
    this.#reading = part
    this.#dropped.push({ selector: text, trust, reason })
  }

  readonly source: Watch['source'] = (part, { text, trust }, found) => {
    this.#reading = part
    this.#tried.push({ selector: text, trust, raw: found.map(plain), steps: [] })
  }

  readonly step: Watch['step'] = (step, values) => {
    this.#tried.at(-1)?.steps.push({ step, values: values.map(plain) })
  }

  readonly part: Watch['part'] = (name, canonical, source) => {
    this.#parts.push({ name, dropped: this.#dropped, tried: this.#tried, source: source ?? null, canonical: canonical ?? null })
    this.#tried = []
    this.#dropped = []
  }

  /** With the part that was being read when the request was refused, if it was. */
  read(): ExplainedPart[] {
    if (this.#tried.length === 0) return this.#parts
    return [...this.#parts, { name: this.#reading, dropped: this.#dropped, tried: this.#tried, source: null, canonical: null }]
  }

  readonly owner: Watch['owner'] = (kind, source) => {
    this.seenOwner = { kind, source: source ?? null }
  }
}
