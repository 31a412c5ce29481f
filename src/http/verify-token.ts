// The bearer token of a request: verified once, then its claims. What is expired or forged never reaches a record.
import { createPublicKey, hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRemoteJWKSet, errors, jwtVerify, type JWTVerifyGetKey, type JWTVerifyOptions } from 'jose'
import type { JwtConfig } from '../config/gateway-config.ts'
import { parseJson } from '../fingerprint/json.ts'
import type { JsonValue } from '../fingerprint/json-value.ts'
import { problem, type Problem } from '../model/problems.ts'

export type Token =
  | { readonly kind: 'absent' }
  | { readonly kind: 'verified'; readonly claims: JsonValue }
  | { readonly kind: 'refused'; readonly problem: Problem }

/** Takes the lines of `Authorization`. */
export type TokenVerifier = (authorization: readonly string[]) => Promise<Token>

/** Never both kinds: a public key must not be taken for a shared secret (RFC 8725 section 2.1). */
const ASYMMETRIC = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
const SYMMETRIC = ['HS256', 'HS384', 'HS512']

const MAX_TOKENS = 10_000
/** For tokens without `exp`. */
const KEPT_MS = 5 * 60_000
/** RFC 7519 section 4.1.4: no more than a few minutes for clocks that differ. */
const CLOCK_TOLERANCE_S = 5
const JWKS_TIMEOUT_MS = 3000
/** How soon an unknown key makes the gateway fetch the keys again: new keys are found, and forged tokens start no flood. */
const COOLDOWN_MS = 10_000

interface Known {
  readonly claims: JsonValue
  readonly until: number
}

/** Throws where the file holds no public key. */
export function createTokenVerifier(jwt: JwtConfig, cooldownMs = COOLDOWN_MS): TokenVerifier {
  const known = new Map<string, Known>()
  const verify = verifierOf(jwt, cooldownMs)
  return async (authorization) => {
    const token = bearerToken(authorization)
    if (token === undefined) return { kind: 'absent' }
    // Twice the header is nobody's habit but an attacker's.
    if (authorization.length > 1) return refused('was sent twice')
    const id = hash('sha256', token, 'base64url')
    const kept = known.get(id)
    if (kept !== undefined && kept.until > Date.now()) return { kind: 'verified', claims: kept.claims }
    known.delete(id)
    try {
      const { exp } = (await verify(token)).payload
      const claims = claimsOf(token)
      // The oldest goes: a token is used for minutes, so the order of coming is near enough to that of use.
      if (known.size >= MAX_TOKENS) known.delete(known.keys().next().value ?? '')
      known.set(id, { claims, until: exp === undefined ? Date.now() + KEPT_MS : exp * 1000 })
      return { kind: 'verified', claims }
    } catch (error) {
      return refusalOf(error)
    }
  }
}

function verifierOf(jwt: JwtConfig, cooldownMs: number): (token: string) => ReturnType<typeof jwtVerify> {
  const options: JWTVerifyOptions = {
    algorithms: jwt.secret === undefined ? ASYMMETRIC : SYMMETRIC,
    clockTolerance: CLOCK_TOLERANCE_S,
    ...(jwt.issuer && { issuer: [...jwt.issuer] }),
    ...(jwt.audience && { audience: [...jwt.audience] }),
  }
  if (jwt.jwks !== undefined) {
    const keys = remoteKeys(jwt.jwks, cooldownMs)
    return (token) => jwtVerify(token, keys, options)
  }
  const key = jwt.secret === undefined ? createPublicKey(readFileSync(jwt.publicKeyFile ?? '')) : new TextEncoder().encode(jwt.secret)
  return (token) => jwtVerify(token, key, options)
}

/** The issuer's keys could not be had; says nothing of the token. */
class KeysUnavailable extends Error {}

function remoteKeys(jwks: string, cooldownMs: number): JWTVerifyGetKey {
  const remote = createRemoteJWKSet(new URL(jwks), { timeoutDuration: JWKS_TIMEOUT_MS, cooldownDuration: cooldownMs })
  return async (header, token) => {
    try {
      return await remote(header, token)
    } catch (error) {
      const ofToken =
        error instanceof errors.JWKSNoMatchingKey ||
        error instanceof errors.JWKSMultipleMatchingKeys ||
        error instanceof errors.JOSENotSupported
      throw ofToken ? error : new KeysUnavailable('the keys of the issuer are out of reach', { cause: error })
    }
  }
}

function bearerToken(authorization: readonly string[]): string | undefined {
  for (const line of authorization) {
    const [, token] = /^bearer +(\S+)$/i.exec(line.trim()) ?? []
    if (token !== undefined) return token
  }
  return undefined
}

/** Read by the same reader as a body, so that numbers are exact and no claim stands there twice. */
function claimsOf(token: string): JsonValue {
  return parseJson(Buffer.from(token.split('.')[1] ?? '', 'base64url'))
}

function refused(why: string): Token {
  return { kind: 'refused', problem: problem('token-invalid', `The bearer token ${why}.`) }
}

function refusalOf(error: unknown): Token {
  if (error instanceof KeysUnavailable) {
    const detail = "The keys of the token's issuer are out of reach: nobody knows whether the token is valid."
    return { kind: 'refused', problem: problem('keys-unavailable', detail, { retryAfterMs: 1000 }) }
  }
  return refused(error instanceof errors.JWTExpired ? 'has expired' : 'is not valid here')
}
