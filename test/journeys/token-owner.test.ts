// A fresh token of the same subject gets the replay; an expired or forged one gets 401 and no byte of it.
import { SignJWT } from 'jose'
import t from 'tap'
import { send } from '../helpers/client.ts'
import { testGateway } from '../helpers/gateway.ts'
import { json, startUpstream } from '../helpers/upstream.ts'

const secret = 'k'.repeat(40)
const RULES = `
  - name: order
    match: { path: /orders }
    owner: jwt.sub
    fingerprint: { cart: body.cart }
`

function token(sub: string, expires = '1h', key = secret): Promise<string> {
  const made = new SignJWT({ jti: String(Math.random()) }).setProtectedHeader({ alg: 'HS256' }).setSubject(sub)
  return made.setExpirationTime(expires).sign(Buffer.from(key))
}

t.test('tokens change, subjects stay', async (t) => {
  const upstream = await startUpstream((_request, response) => {
    json(response, 201, { order: upstream.count() })
  })
  const gateway = await testGateway({ upstream: upstream.url, rules: RULES, top: `jwt: { secret: ${secret} }` })
  t.teardown(async () => {
    await gateway.close()
    await upstream.close()
  })
  const order = (bearer: string) => send(`${gateway.url}/orders`, { headers: { authorization: `Bearer ${bearer}` }, body: { cart: 1 } })
  const first = await order(await token('ann'))
  t.equal(first.status, 201)
  const again = await order(await token('ann'))
  t.equal(again.headers['idempotency-replayed'], 'true')
  t.notSame((await order(await token('bob'))).body, first.body)
  for (const bad of [await token('ann', '-1h'), await token('ann', '1h', 'f'.repeat(40))]) {
    const refused = await order(bad)
    t.equal(refused.status, 401)
    t.equal(refused.json().type, 'urn:oncegate:token-invalid')
    t.match(refused.headers['www-authenticate'], /invalid_token/)
  }
  t.equal(upstream.count(), 2)
  const page = `${gateway.url}/status/${String(first.headers['idempotency-fingerprint'])}/result`
  const result = async (bearer: string) => (await send(page, { method: 'GET', headers: { authorization: `Bearer ${bearer}` } })).status
  t.equal(await result(await token('ann')), 201)
  t.equal(await result(await token('bob')), 404)
  t.equal(await result(await token('ann', '-1h')), 404)
})
