import fc from 'fast-check'
import t from 'tap'
import { compileRule } from '../../src/fingerprint/compile-rule.ts'
import { identify } from '../../src/fingerprint/identify.ts'
import { ownerTag } from '../../src/fingerprint/owner.ts'
import { fingerprint, identified, keys, operation, request, ruleConfig } from './requests.ts'

const byToken = { owner: ['header.authorization'], fingerprint: { v: 'body.v' } }
const byKey = { owner: ['header.authorization'], fingerprint: { key: 'header.idempotency-key' } }
const body = '{"v":1}'
const as = (authorization: string) => ({ headers: ['Authorization', authorization], body })

t.test('two owners never share a record', async (t) => {
  t.not(fingerprint(byToken, as('Bearer a')), fingerprint(byToken, as('Bearer b')))
  t.equal(fingerprint(byToken, as('Bearer a')), fingerprint(byToken, as('Bearer a')))
  t.not(operation(byToken, as('Bearer a')).owner, operation(byToken, as('Bearer b')).owner)
  fc.assert(
    fc.property(fc.string({ minLength: 1, unit: 'grapheme-ascii' }), fc.string({ minLength: 1, unit: 'grapheme-ascii' }), (one, other) => {
      const [a, b] = [`t${one.trim()}`, `t${other.trim()}`]
      return (a === b) === (fingerprint(byToken, as(a)) === fingerprint(byToken, as(b)))
    }),
  )
})

t.test('strangers without an owner pass unguarded, or their key is their capability', async (t) => {
  t.same(identified(byToken, { body }), { kind: 'unguarded', reason: 'no-owner' })
  t.same(identified(byToken, as('  ')), { kind: 'unguarded', reason: 'no-owner' }, 'blank is absent')
  const one = operation(byKey, { headers: ['Idempotency-Key', 'k1'] })
  const other = operation(byKey, { headers: ['Idempotency-Key', 'k2'] })
  t.not(one.fingerprint, other.fingerprint)
  t.not(one.owner, other.owner)
  t.match(one.owner, /^[\w-]{32}$/)
})

t.test('absent, none and every real owner are apart', async (t) => {
  const key = { headers: ['Idempotency-Key', 'k1'] }
  const none = operation({ ...byKey, owner: 'none' }, key)
  const absent = operation(byKey, key)
  t.equal(none.owner, '')
  t.not(none.fingerprint, absent.fingerprint)
  for (const value of ['none', 'absent', 'x', 'y', 'k1', 'undefined']) {
    const real = operation(byKey, { headers: [...key.headers, 'Authorization', value] })
    t.not(real.fingerprint, absent.fingerprint)
    t.not(real.fingerprint, none.fingerprint)
    t.not(real.owner, absent.owner)
  }
})

t.test('the first present source wins, and one source never speaks for another', async (t) => {
  const rule = { owner: ['header.x-user', 'cookie.sid', 'ip'], fingerprint: { v: 'body.v' } }
  const user = fingerprint(rule, { headers: ['X-User', 'u1', 'Cookie', 'sid=s1'], body })
  t.equal(user, fingerprint(rule, { headers: ['X-User', 'u1', 'Cookie', 'sid=s2'], body }))
  t.not(user, fingerprint(rule, { headers: ['Cookie', 'sid=u1'], body }))
  t.equal(
    fingerprint(rule, { headers: ['X-User', '', 'Cookie', 'sid=s1'], body }),
    fingerprint(rule, { headers: ['Cookie', 'a=b; sid=s1'], body }),
  )
  t.equal(identified(rule, { body }).kind, 'guarded')
})

t.test('property: two requests share a record exactly where the first source that says who it is says the same', async () => {
  const sources = ['header.x-user', 'cookie.sid', 'jwt.sub', 'ip'] as const
  const rule = compileRule(ruleConfig({ owner: [...sources], fingerprint: { v: 'body.v', key: { from: 'header.k', optional: true } } }))
  const name = fc.constantFrom('a', 'b', 'ab', 'a=b', '"a"', 'jwt.sub', '192.0.2.1')
  const asked = fc.record({
    'header.x-user': fc.option(fc.oneof(name, fc.constant('  ')), { nil: undefined }),
    'cookie.sid': fc.option(name, { nil: undefined }),
    'jwt.sub': fc.option(name, { nil: undefined }),
    ip: fc.constantFrom('', '192.0.2.1', '192.0.2.2', 'a'),
    key: fc.constantFrom('k1', 'k2'),
  })
  type Asked = typeof asked extends fc.Arbitrary<infer T> ? T : never
  const made = (who: Asked) => {
    const headers = ['K', who.key]
    if (who['header.x-user'] !== undefined) headers.push('X-User', who['header.x-user'])
    if (who['cookie.sid'] !== undefined) headers.push('Cookie', `sid=${who['cookie.sid']}`)
    const parts = request({ headers, body, ip: who.ip })
    const claims = who['jwt.sub'] === undefined ? {} : { claims: { sub: who['jwt.sub'] } }
    const result = identify(rule, { ...parts, ...claims }, { params: {}, pattern: '' }, keys)
    if (result.kind !== 'guarded') throw new Error(result.kind)
    return result.operation
  }
  const ownerOf = (who: Asked): string => {
    const source = sources.find((each) => (who[each] ?? '').trim() !== '')
    return source === undefined ? `nobody, with ${who.key}` : `${source} ${who[source]}`
  }
  fc.assert(
    fc.property(asked, asked, (one, other) => {
      const [a, b] = [made(one), made(other)]
      const sameOwner = ownerOf(one) === ownerOf(other)
      return (a.owner === b.owner) === sameOwner && (a.fingerprint === b.fingerprint) === (sameOwner && one.key === other.key)
    }),
    { numRuns: 3000 },
  )
})

t.test('a repeated owner header is all its lines', async (t) => {
  const twice = { headers: ['Authorization', 'a', 'authorization', 'b'], body }
  for (const one of ['a', 'b', 'a, b', 'a,b']) t.not(fingerprint(byToken, twice), fingerprint(byToken, as(one)))
})

t.test('ownerTag knows the requester of a result again, without body or path', async (t) => {
  const rule = compileRule(ruleConfig(byKey))
  const tag = (headers: string[]) => ownerTag(rule, request({ method: 'GET', url: '/status/x/result', headers }), { params: {} }, keys)
  t.equal(tag(['Authorization', 'a']), operation(byKey, { headers: ['Authorization', 'a', 'Idempotency-Key', 'k'] }).owner)
  t.equal(tag(['Idempotency-Key', '"k"']), operation(byKey, { headers: ['Idempotency-Key', 'k'] }).owner)
  t.equal(tag([]), undefined)
  t.equal(tag(['Idempotency-Key', '']), undefined)
  t.not(tag(['Authorization', 'k']), tag(['Idempotency-Key', 'k']))
  const none = compileRule(ruleConfig({ owner: 'none' }))
  t.equal(ownerTag(none, request({}), { params: {} }, keys), '')
  const bodyOwner = compileRule(ruleConfig({ owner: ['body.user'] }))
  t.equal(ownerTag(bodyOwner, request({ body: '{' }), { params: {} }, keys), undefined)
})

t.test('no stored word holds a value', async (t) => {
  const made = operation(byKey, { headers: ['Authorization', 'Bearer t0k3n', 'Idempotency-Key', 'k3y'], body: '{"a":"s3cr3t"}' })
  t.notMatch(JSON.stringify({ ...made, clientKey: '' }), /t0k3n|k3y|s3cr3t/)
})
