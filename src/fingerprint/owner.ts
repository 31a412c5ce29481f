// Whose record it is. Absent, `none` and every real owner are told apart, and only a keyed hash is ever stored.
import { encode, encodeList, encodeString, type CanonicalValue } from './canonical.ts'
import type { Rule } from './compile-rule.ts'
import { keyedHash, type FingerprintKeys } from './keys.ts'
import { KEY_PART, readPart } from './parts.ts'
import { compileSelector } from './select.ts'
import { Refusal } from './refusal.ts'
import { RequestContext, type Params } from './request-context.ts'
import type { RequestParts } from './request-parts.ts'

/** Half again as long as 128 bits need. */
const TAG_CHARS = 32

export type Owner =
  | { readonly kind: 'none' }
  | { readonly kind: 'absent' }
  /** `canonical` names the source too: what one header says is not what another says. */
  | { readonly kind: 'known'; readonly source: string; readonly canonical: string }

export function readOwner(rule: Rule, context: RequestContext): Owner {
  if (rule.owner === 'none') return { kind: 'none' }
  for (const { text, selector, select } of rule.owner) {
    // A subject is one issuer's word for somebody (RFC 7519 section 4.1.2).
    const values = selector.source === 'jwt' ? ofIssuer(select(context), context) : select(context)
    if (values.some(saysSomething)) return { kind: 'known', source: text, canonical: encodeString(text) + encodeList(values) }
  }
  return { kind: 'absent' }
}

const ISSUER = compileSelector('jwt.iss')

function ofIssuer(values: readonly CanonicalValue[], context: RequestContext): readonly CanonicalValue[] {
  return values.some(saysSomething) ? [ISSUER.select(context), ...values] : []
}

function saysSomething(value: CanonicalValue): boolean {
  return value !== null && !(typeof value === 'string' && value.trim() === '')
}

/** The owner's place in the fingerprint. */
export function encodeOwner(owner: Owner): string {
  return owner.kind === 'known' ? `k${owner.canonical}` : owner.kind === 'none' ? 'x' : 'y'
}

/** What the record keeps. An absent owner's key is its capability. */
export function tagOf(owner: Owner, clientKey: string | undefined, keys: FingerprintKeys): string | undefined {
  if (owner.kind === 'none') return ''
  if (owner.kind === 'known') return keyedHash(keys.owner, encodeOwner(owner)).slice(0, TAG_CHARS)
  return clientKey === undefined ? undefined : keyedHash(keys.owner, `y${encode(clientKey)}`).slice(0, TAG_CHARS)
}

/** The tag of whoever sends this request under the rule, to compare with a record's; undefined for somebody without one. */
export function ownerTag(rule: Rule, request: RequestParts, match: { readonly params: Params }, keys: FingerprintKeys): string | undefined {
  const context = new RequestContext(request, match.params)
  try {
    const owner = readOwner(rule, context)
    const part = owner.kind === 'absent' ? rule.parts.find(({ name }) => name === KEY_PART) : undefined
    return tagOf(owner, part && readPart(part, context)?.clientKey, keys)
  } catch (error) {
    if (error instanceof Refusal) return undefined
    throw error
  }
}
