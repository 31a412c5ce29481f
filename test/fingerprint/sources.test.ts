// Where parts and owners come from: claims, lists with trust, several sources joined.
import t from 'tap'
import { compileRule } from '../../src/fingerprint/compile-rule.ts'
import { identify } from '../../src/fingerprint/identify.ts'
import { parseJson } from '../../src/fingerprint/json.ts'
import type { RuleConfig } from '../../src/config/gateway-config.ts'
import type { Operation } from '../../src/model/operation.ts'
import { fingerprint, keys, refusal, request, ruleConfig } from './requests.ts'

function ofClaims(settings: Partial<RuleConfig>, claims?: string): Operation | string {
  const parts = { ...request({ body: '{"v":1}' }), ...(claims !== undefined && { claims: parseJson(claims) }) }
  const result = identify(compileRule(ruleConfig(settings)), parts, { params: {}, pattern: '' }, keys)
  return result.kind === 'guarded' ? result.operation : result.kind === 'refused' ? result.problem.name : result.reason
}

t.test('an owner by claim: a fresh token of the same subject is the same, another issuer’s is not', async (t) => {
  const rule = { owner: ['jwt.sub'] }
  const one = ofClaims(rule, '{"iss":"a","sub":"ann","iat":1,"exp":2,"jti":"x"}')
  t.type(one, 'object')
  t.same(ofClaims(rule, '{"jti":"y","sub":"ann","iss":"a","iat":5,"exp":9}'), one)
  for (const other of ['{"iss":"a","sub":"bob"}', '{"iss":"b","sub":"ann"}', '{"sub":"ann"}', '{"iss":"a","sub":["ann"]}'])
    t.notSame(ofClaims(rule, other), one, other)
  t.equal(ofClaims(rule), 'no-owner')
  t.equal(ofClaims(rule, '{"iss":"a","sub":" "}'), 'no-owner')
})

t.test('a claim as a part', async (t) => {
  const rule = { fingerprint: { org: 'jwt.org.id' } }
  t.same(ofClaims(rule, '{"org":{"id":5}}'), ofClaims(rule, '{"org":{"id":5.0},"sub":"x"}'))
  t.notSame(ofClaims(rule, '{"org":{"id":5}}'), ofClaims(rule, '{"org":{"id":"5"}}'))
  t.equal(ofClaims(rule, '{"sub":"a"}'), 'field-missing')
  t.ok(compileRule(ruleConfig(rule)).readsClaims)
  t.notOk(compileRule(ruleConfig({})).readsClaims)
})

t.test('all: present where every one is, and no border can be moved', async (t) => {
  const rule = { fingerprint: { d: { from: [{ all: ['header.a', 'header.b'], trust: 0.3 }, 'header.c'], optional: false } } }
  const of = (...headers: string[]) => fingerprint(rule, { headers })
  t.equal(of('A', '1', 'B', '2'), of('B', '2', 'A', '1'))
  t.not(of('A', '1', 'B', '2'), of('A', '12', 'B', ''))
  t.not(of('A', '1', 'A', '2', 'B', '3'), of('A', '1', 'B', '2', 'B', '3'))
  t.equal(of('A', '1', 'C', '3'), of('C', '3'))
  t.equal(refusal(rule, { headers: ['A', '1'] }), 'field-missing')
})

t.test('minTrust: a source below it does not count', async (t) => {
  const from = [
    { select: 'header.device', trust: 0.9 },
    { select: 'ip', trust: 0.2 },
  ]
  const lax = { fingerprint: { d: { from, optional: false } } }
  const strict = { fingerprint: { d: { from, optional: false, minTrust: 0.5 } } }
  t.match(fingerprint(lax, {}), /^[\w-]{44}$/)
  t.equal(refusal(strict, {}), 'field-missing')
  t.equal(fingerprint(strict, { headers: ['Device', 'x'] }), fingerprint(lax, { headers: ['Device', 'x'] }))
})
