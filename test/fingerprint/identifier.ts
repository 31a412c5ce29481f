// A rule file as the gateway meets it: requests with their token verified and their form read, each to its identity.
import { SignJWT, type JWTPayload } from 'jose'
import { loadConfig, type LoadOptions } from '../../src/config/load.ts'
import { compileRule } from '../../src/fingerprint/compile-rule.ts'
import { identify, type Identified } from '../../src/fingerprint/identify.ts'
import type { RequestParts } from '../../src/fingerprint/request-parts.ts'
import { compileRoutes } from '../../src/fingerprint/route.ts'
import { loadStepTools } from '../../src/fingerprint/steps/tools.ts'
import { chooseRule, type Chosen } from '../../src/fingerprint/where.ts'
import { withFields } from '../../src/fingerprint/with-fields.ts'
import { createTokenVerifier, type TokenVerifier } from '../../src/http/verify-token.ts'
import { headerLines } from '../../src/model/headers.ts'
import { keys, request, type Sent } from './requests.ts'

/** What `jwt.secret` of a rule file must be for `claims` to be believed. */
export const TOKEN_SECRET = 'a secret for tokens, and for tests only'

export interface Asked extends Sent {
  /** Sent as a bearer token that is signed with `TOKEN_SECRET`. */
  readonly claims?: JWTPayload
}

export type Identity = Identified | Exclude<Chosen, { readonly kind: 'matched' }>

export async function identifierOf(options: Omit<LoadOptions, 'env'>): Promise<(asked: Asked) => Promise<Identity>> {
  const { config } = loadConfig({ ...options, env: {}, overrides: { upstream: 'http://127.0.0.1:1' } })
  const tools = await loadStepTools(config.rules)
  const route = compileRoutes(config.rules.map((rule) => compileRule(rule, tools)))
  const verify = config.jwt && createTokenVerifier(config.jwt)
  return async (asked) => {
    const parts = await withFields(request(await signed(asked)))
    const found = route(parts.method, parts.path)
    if (found.kind === 'ambiguous') throw new Error(found.detail)
    const match = found.kind === 'choice' ? chooseRule(found.options, parts) : found
    if (match.kind !== 'matched') return match
    return identify(match.rule, await withClaims(parts, verify), match, keys)
  }
}

async function signed({ claims, ...sent }: Asked): Promise<Sent> {
  if (claims === undefined) return sent
  const token = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(TOKEN_SECRET))
  return { ...sent, headers: [...(sent.headers ?? []), 'Authorization', `Bearer ${token}`] }
}

async function withClaims(parts: RequestParts, verify: TokenVerifier | undefined): Promise<RequestParts> {
  const token = await verify?.(headerLines(parts.headers, 'authorization'))
  if (token?.kind === 'refused') throw new Error(token.problem.detail)
  return token?.kind === 'verified' ? { ...parts, claims: token.claims } : parts
}
