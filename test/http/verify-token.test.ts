// Tokens are verified by whatever key the file names, once each, and never by another kind of key.
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { SignJWT, exportJWK, type JWK } from 'jose'
import t from 'tap'
import { createTokenVerifier, type TokenVerifier } from '../../src/http/verify-token.ts'

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const secret = 's'.repeat(32)

interface Signing {
  key: KeyObject | Uint8Array
  alg: string
  kid?: string
  claims?: Record<string, unknown>
  expires?: string | number
}

function sign({ key, alg, kid, claims = {}, expires = '1h' }: Signing): Promise<string> {
  const token = new SignJWT({ sub: 'ann', ...claims })
    .setProtectedHeader({ alg, ...(kid && { kid }) })
    .setIssuer('me')
    .setAudience('api')
  return token.setIssuedAt().setExpirationTime(expires).sign(key)
}

async function verdict(verify: TokenVerifier, token: string | undefined): Promise<string> {
  const result = await verify(token === undefined ? [] : [`Bearer ${token}`])
  return result.kind === 'refused' ? result.problem.name : result.kind
}

t.test('a public key file: its tokens and no others', async (t) => {
  const file = `${mkdtempSync(`${tmpdir()}/jwt-`)}/key.pem`
  const pem = rsa.publicKey.export({ type: 'spki', format: 'pem' })
  writeFileSync(file, pem)
  const verify = createTokenVerifier({ publicKeyFile: file, issuer: ['me'], audience: ['api', 'other'] })
  const good = await sign({ key: rsa.privateKey, alg: 'RS256', claims: { n: 9_007_199_254_740_991 } })
  t.match(await verify([`bearer   ${good}`]), { kind: 'verified', claims: { sub: 'ann', iss: 'me' } })
  t.equal(await verdict(verify, good), 'verified', 'from memory')
  t.equal(await verdict(verify, undefined), 'absent')
  t.same(await verify(['Basic YTpi']), { kind: 'absent' })
  const bad: Record<string, string> = {
    'a changed signature': `${good.slice(0, -6)}AAAAAA`,
    'another key': await sign({ key: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey, alg: 'RS256' }),
    'another kind of key': await sign({ key: ec.privateKey, alg: 'ES256' }),
    'the public key as a secret': await sign({ key: Buffer.from(pem), alg: 'HS256' }),
    'no signature': `${Buffer.from('{"alg":"none"}').toString('base64url')}.${good.split('.')[1]}.`,
    expired: await sign({ key: rsa.privateKey, alg: 'RS256', expires: Math.floor(Date.now() / 1000) - 60 }),
    'not yet': await sign({ key: rsa.privateKey, alg: 'RS256', claims: { nbf: Math.floor(Date.now() / 1000) + 600 } }),
    'another issuer': await sign({ key: rsa.privateKey, alg: 'RS256', claims: { iss: 'you' } }).then(async () =>
      new SignJWT({ sub: 'ann' }).setProtectedHeader({ alg: 'RS256' }).setIssuer('you').setAudience('api').sign(rsa.privateKey),
    ),
    'no token': 'opaque',
  }
  for (const [name, token] of Object.entries(bad)) t.equal(await verdict(verify, token), 'token-invalid', name)
  t.match(await verify([`Bearer ${good}`, `Bearer ${good}`]), { kind: 'refused', problem: { name: 'token-invalid' } })
})

t.test('a secret takes no public-key algorithm', async (t) => {
  const verify = createTokenVerifier({ secret })
  t.equal(await verdict(verify, await sign({ key: Buffer.from(secret), alg: 'HS256' })), 'verified')
  t.equal(await verdict(verify, await sign({ key: rsa.privateKey, alg: 'RS256' })), 'token-invalid')
})

async function jwksServer(keys: () => JWK[] | undefined): Promise<{ url: string; fetches: () => number; server: Server }> {
  let fetches = 0
  const server = createServer((_request, response) => {
    fetches++
    const found = keys()
    response.writeHead(found === undefined ? 500 : 200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys: found }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`, fetches: () => fetches, server }
}

t.test('a key set by URL: fetched once, again for a new key, and its absence is no verdict', async (t) => {
  const first: JWK = { ...(await exportJWK(rsa.publicKey)), kid: 'one', alg: 'RS256' }
  const second: JWK = { ...(await exportJWK(ec.publicKey)), kid: 'two', alg: 'ES256' }
  let keys: JWK[] | undefined
  const { url, fetches, server } = await jwksServer(() => keys)
  t.teardown(() => server.close())
  const verify = createTokenVerifier({ jwks: url }, 0)
  const old = await sign({ key: rsa.privateKey, alg: 'RS256', kid: 'one' })
  t.equal(await verdict(verify, old), 'keys-unavailable')
  keys = [first]
  const before = fetches()
  const many = await Promise.all(Array.from({ length: 20 }, () => verdict(verify, old)))
  t.same(new Set(many), new Set(['verified']))
  t.equal(fetches(), before + 1)
  keys = [second]
  t.equal(await verdict(verify, await sign({ key: ec.privateKey, alg: 'ES256', kid: 'two' })), 'verified', 'rotated')
  t.equal(await verdict(verify, await sign({ key: ec.privateKey, alg: 'ES256', kid: 'three' })), 'token-invalid')
  server.close()
  server.closeAllConnections()
  t.equal(await verdict(createTokenVerifier({ jwks: url }), old), 'keys-unavailable', 'nobody there')
})
