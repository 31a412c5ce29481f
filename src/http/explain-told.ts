// How a request that somebody tells of would be identified, its bearer token verified as if it had come.
import type { Rule } from '../fingerprint/compile-rule.ts'
import { explain, type Explanation } from '../fingerprint/explain.ts'
import type { FingerprintKeys } from '../fingerprint/keys.ts'
import type { RequestParts } from '../fingerprint/request-parts.ts'
import { headerLines } from '../model/headers.ts'
import type { Token, TokenVerifier } from './verify-token.ts'

/** Claims that come with the request were verified when it came. */
export async function explainTold(
  rules: readonly Rule[],
  request: RequestParts,
  { keys, verify }: { keys: FingerprintKeys; verify: TokenVerifier | undefined },
): Promise<Explanation> {
  const token: Token | undefined = request.claims === undefined ? await verify?.(headerLines(request.headers, 'authorization')) : undefined
  if (token?.kind === 'verified') return explain(rules, { ...request, claims: token.claims }, keys)
  return explain(rules, request, keys, token?.kind === 'refused' ? token.problem : undefined)
}
