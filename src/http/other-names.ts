// What a request is called under the other versions of the rules that count, so that no change of them opens a gap between two names.
import type { Rule } from '../fingerprint/compile-rule.ts'
import { identify } from '../fingerprint/identify.ts'
import { joinNames, type Named } from '../fingerprint/join-names.ts'
import type { FingerprintKeys } from '../fingerprint/keys.ts'
import type { RequestParts } from '../fingerprint/request-parts.ts'
import type { Matched } from '../fingerprint/route.ts'
import type { RuleSet } from '../fingerprint/rule-set.ts'
import type { Versions } from '../fingerprint/rule-history.ts'
import { choiceReadsBody, choiceReadsClaims, chooseRule } from '../fingerprint/where.ts'
import { withFields } from '../fingerprint/with-fields.ts'
import { headerLines } from '../model/headers.ts'
import type { Operation } from '../model/operation.ts'
import type { TokenVerifier } from './verify-token.ts'

export interface Own extends Named {
  readonly match: Matched
  readonly request: RequestParts
  readonly keys: FingerprintKeys
  /** The request with its verified claims; undefined where its token is not valid. */
  readonly withClaims: (request: RequestParts) => Promise<RequestParts | undefined>
}

export function claimsWith(verifyToken: TokenVerifier | undefined): Own['withClaims'] {
  return async (request) => {
    const token = await verifyToken?.(headerLines(request.headers, 'authorization'))
    if (token === undefined || token.kind === 'absent') return request
    return token.kind === 'verified' ? { ...request, claims: token.claims } : undefined
  }
}

/** A version that would refuse the request, or let it pass, has no name for it. */
export async function joinOtherNames(own: Own, { claimable, all }: Versions): Promise<Operation> {
  const found = new Map<string, Named>()
  for (const set of all) {
    const named = await nameUnder(set, own)
    if (named !== undefined) found.set(set.derivation, named)
  }
  const claimed = claimable.map(({ derivation }) => found.get(derivation)).find((named) => named !== undefined)
  return joinNames(own, claimed ?? own, [...found.values()])
}

async function nameUnder(set: RuleSet, own: Own): Promise<Named | undefined> {
  const match = await matchUnder(set, own)
  if (match === undefined || match.rule.config.mode !== 'enforce') return undefined
  const { rule } = match
  if (rule.derivation === own.rule.derivation && match.pattern === own.match.pattern) return { rule, operation: own.operation }
  const request = await readyFor(rule, own, match.rule.readsBody)
  if (request === undefined) return undefined
  const identified = identify(rule, request, match, own.keys)
  return identified.kind === 'guarded' ? { rule, operation: identified.operation } : undefined
}

async function matchUnder(set: RuleSet, own: Own): Promise<Matched | undefined> {
  const match = set.routes(own.request.method, own.request.path)
  if (match.kind === 'matched') return match
  if (match.kind !== 'choice') return undefined
  const needs = { readsClaims: choiceReadsClaims(match.options) }
  const request = await readyFor(needs, own, choiceReadsBody(match.options))
  if (request === undefined) return undefined
  const chosen = chooseRule(match.options, request)
  // What was read for the choice is not used again: a digest takes from a body what it ignores.
  return chosen.kind === 'matched' ? { ...chosen, context: undefined } : undefined
}

async function readyFor(rule: Pick<Rule, 'readsClaims'>, own: Own, readsBody: boolean): Promise<RequestParts | undefined> {
  // Read anew for each version, for the same reason.
  const { multipart: _, ...bare } = own.request
  const request = readsBody ? await withFields(bare) : bare
  return rule.readsClaims && request.claims === undefined ? own.withClaims(request) : request
}
