// From a request to its operation: the fingerprint, the digest and the owner. Pure, and the only place that knows their make-up.
import { movedHome } from '../model/home.ts'
import type { Operation } from '../model/operation.ts'
import type { Problem } from '../model/problems.ts'
import { homeOfOwner, readAlsoUnique } from './also-unique.ts'
import { encodeNamed, encodeString } from './canonical.ts'
import type { Rule } from './compile-rule.ts'
import { computeDigest } from './digest.ts'
import { readGroup } from './exclusive.ts'
import { issue, issueAmong, type FingerprintKeys, type Place } from './keys.ts'
import { encodeOwner, readOwner, tagOf, type Owner } from './owner.ts'
import { KEY_PART, missing, readPart } from './parts.ts'
import { canonicalPath } from './path-readings.ts'
import { Refusal } from './refusal.ts'
import { RequestContext, type Params } from './request-context.ts'
import { asText } from './steps/text-steps.ts'
import type { RequestParts } from './request-parts.ts'
import type { Watch } from './watch.ts'

/** What the request was matched by; see `compileRoutes`. */
export interface PathMatch {
  readonly params: Params
  readonly pattern: string
  /** Where the rule was chosen by what the request says, as far as it has been read for that. */
  readonly context?: RequestContext | undefined
}

export type Identified =
  | { readonly kind: 'guarded'; readonly operation: Operation }
  | { readonly kind: 'unguarded'; readonly reason: 'no-owner' | 'part-missing' }
  | { readonly kind: 'refused'; readonly problem: Problem }

/** Changes whenever the same request would get another fingerprint. */
const VERSION = 'v1:'

const NO_DIGEST = { digest: '', digestFields: '' }

export function identify(rule: Rule, request: RequestParts, match: PathMatch, keys: FingerprintKeys, watch?: Watch): Identified {
  try {
    return derive(rule, new RequestContext(request, match.params, match.context), match, { keys, watch })
  } catch (error) {
    if (error instanceof Refusal) return { kind: 'refused', problem: error.problem }
    throw error
  }
}

function derive(
  rule: Rule,
  context: RequestContext,
  match: PathMatch,
  { keys, watch }: { keys: FingerprintKeys; watch: Watch | undefined },
): Identified {
  const read = readParts(rule, context, watch)
  if (read === undefined) return { kind: 'unguarded', reason: 'part-missing' }
  const owner = readOwner(rule, context)
  watch?.owner(owner.kind, owner.kind === 'known' ? owner.source : undefined)
  const tag = tagOf(owner, read.clientKey, keys)
  if (tag === undefined) return { kind: 'unguarded', reason: 'no-owner' }
  const home = rule.alsoUnique && homeOfOwner(rule.config.name, tag, keys)
  const ofRequest = rule.exclusive && readGroup(rule.exclusive, context, encodeOwner(owner), { keys, onMissing: rule.config.onMissing })
  if (rule.exclusive !== undefined && ofRequest === undefined) return { kind: 'unguarded', reason: 'part-missing' }
  const encodeWith = (parts: Parts): string => encodeFact(rule, context.request, match, owner, parts)
  const { fingerprint, aliases, recordKey } = issueNames(encodeWith, read, {
    keys,
    place: { group: ofRequest !== undefined && home !== undefined ? movedHome(ofRequest, home) : ofRequest, home },
  })
  const { digest, digestFields } = rule.digest === undefined ? NO_DIGEST : computeDigest(rule.digest, context, keys, recordKey)
  return {
    kind: 'guarded',
    operation: {
      fingerprint,
      aliases,
      digest,
      digestFields,
      owner: tag,
      countedFor: owner.kind === 'known' ? tag : '',
      alsoUnique: rule.alsoUnique && readAlsoUnique(rule.alsoUnique, context, { rule: rule.config.name, owner: tag, fingerprint, keys }),
      firstTry: read.clientKey === undefined && isFirstTry(rule, context),
      clientKey: read.clientKey,
    },
  }
}

type Parts = readonly (readonly [name: string, canonical: string])[]

/** The name of the fact, and where a part has a window, its names in the halves beside: all in one home, for they are looked at together. */
function issueNames(
  encodeWith: (parts: Parts) => string,
  { parts, neighbours }: ReadParts,
  { keys, place }: { keys: FingerprintKeys; place: Place },
) {
  if (neighbours === undefined) return { ...issue(encodeWith(parts), keys, place), aliases: undefined }
  const common = issue(encodeWith(parts.filter(([name]) => !neighbours.has(name))), keys, place)
  const nameWith = (all: Parts): string => issueAmong(encodeWith(all), common, keys)
  // Field hashes are compared across all the names, so they hang on what the names have in common.
  return { fingerprint: nameWith(parts), aliases: besides(parts, neighbours).map(nameWith), recordKey: common.recordKey }
}

/** The parts with one or more of the neighbours in their places, in every combination. */
function besides(parts: Parts, neighbours: ReadonlyMap<string, readonly string[]>): Parts[] {
  let all = [parts]
  for (const [windowed, others] of neighbours) {
    const moved = others.flatMap((other) =>
      all.map((each) => each.map(([name, value]) => [name, name === windowed ? other : value] as const)),
    )
    all = [...all, ...moved]
  }
  return all.slice(1)
}

/** Zero retries, in whatever words; no word of it is no evidence. */
function isFirstTry(rule: Rule, context: RequestContext): boolean {
  const values = rule.retryEvidence?.select(context) ?? []
  return values.length === 1 && asText(values[0]!)?.trim() === '0'
}

interface ReadParts {
  readonly parts: Parts
  /** By the name of the part, what else stands in its place for each window; undefined where the request has none. */
  readonly neighbours: ReadonlyMap<string, readonly string[]> | undefined
  readonly clientKey: string | undefined
}

/** Undefined where something is missing without which the rule lets the request pass. */
function readParts(rule: Rule, context: RequestContext, watch: Watch | undefined): ReadParts | undefined {
  const parts: [string, string][] = []
  let neighbours: Map<string, readonly string[]> | undefined
  let clientKey: string | undefined
  for (const part of rule.parts) {
    const value = readPart(part, context, watch)
    watch?.part(part.name, value?.canonical, value?.source)
    if (value === undefined) {
      if (rule.config.onMissing === 'refuse') throw missing(part)
      if (rule.config.onMissing === 'pass') return undefined
      continue
    }
    if (value.canonical !== undefined) parts.push([part.name, value.canonical])
    if (value.neighbours !== undefined) (neighbours ??= new Map()).set(part.name, value.neighbours)
    clientKey ??= value.clientKey
  }
  return rule.restsOnKey && !parts.some(([name]) => name === KEY_PART) ? undefined : { parts, neighbours, clientKey }
}

function encodeFact(rule: Rule, request: RequestParts, match: PathMatch, owner: Owner, parts: Parts): string {
  const { name, scope } = rule.config
  const operation = scope === 'rule' ? 'r' : encodeString(request.method) + encodePath(request, match)
  return `m${VERSION}${encodeString(name)}${operation}${encodeOwner(owner)}${encodeNamed(parts)}`
}

/** Pattern and decoded parameters, so that every spelling of a path shares one record. */
function encodePath(request: RequestParts, { pattern, params }: PathMatch): string {
  if (pattern === '') return `c${encodeString(canonicalPath(request.path))}`
  const named = encodeNamed(Object.entries(params).map(([name, value]) => [name, encodeString(value ?? '')] as const))
  // In a wildcard `a%2Fb` and `a/b` decode to the same text, and may be two things.
  const slashes = Object.hasOwn(params, '*') && /%2f/i.test(request.path) ? encodeString(canonicalPath(request.path)) : '0'
  return `p${encodeString(pattern)}${named}${slashes}`
}
