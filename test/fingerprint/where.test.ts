// `match.where` picks a rule by what the request says; `scope: rule` lets one fact be reached by several routes.
import t from 'tap'
import type { RuleConfig } from '../../src/config/gateway-config.ts'
import { compileRule } from '../../src/fingerprint/compile-rule.ts'
import { compileRoutes } from '../../src/fingerprint/route.ts'
import { choiceReadsBody, chooseRule } from '../../src/fingerprint/where.ts'
import { fingerprint, identified, request, ruleConfig, type Sent } from './requests.ts'

type Where = NonNullable<RuleConfig['match']['where']>
const rule = (name: string, where?: Where, paths: string[] = ['/rpc']) =>
  compileRule(ruleConfig({ name, match: { methods: ['POST'], paths, ...(where && { where }) } }))

function chooser(...rules: ReturnType<typeof rule>[]): (sent: Sent) => string {
  const route = compileRoutes(rules)
  return (sent) => {
    const parts = request({ url: '/rpc', ...sent })
    const fit = route(parts.method, parts.path)
    const match = fit.kind === 'choice' ? chooseRule(fit.options, parts) : fit
    if (match.kind === 'refused') return match.problem.name
    return match.kind === 'matched' ? match.rule.config.name : match.kind
  }
}

t.test('the first rule whose conditions all hold guards the request', async (t) => {
  const choose = chooser(
    rule('call', { 'body.method': ['tools/call'], 'header.x-mode': ['live'] }),
    rule('other-call', { 'body.method': ['tools/call', 'tools/run'] }),
    rule('rest'),
    rule('never'),
  )
  const live = ['X-Mode', 'live']
  t.equal(choose({ body: '{"method":"tools/call"}', headers: live }), 'call')
  t.equal(choose({ body: '{"method":"tools/call"}' }), 'other-call')
  t.equal(choose({ body: '{"method":"tools/run"}', headers: live }), 'other-call')
  t.equal(choose({ body: '{"method":"ping"}', headers: live }), 'rest')
  t.equal(choose({ body: '{}' }), 'rest')
  t.equal(choose({ url: '/elsewhere', body: '{' }), 'unmatched')
})

t.test('without a last rule for the rest, the rest is nobody’s', async (t) => {
  const choose = chooser(rule('a', { 'body.v': [1, true] }), rule('b', { 'body.list[*]': ['x'] }))
  t.equal(choose({ body: '{"v":1.0}' }), 'a')
  t.equal(choose({ body: '{"v":true}' }), 'a')
  t.equal(choose({ body: '{"list":["y","x"]}' }), 'b')
  t.equal(choose({ body: '{"v":2}' }), 'unmatched')
  t.equal(choose({ body: '' }), 'unmatched')
  t.equal(choose({ body: '{"v":1,"v":2}' }), 'body-invalid', 'two parsers would choose differently')
  t.equal(choose({ body: 'v=1', headers: ['Content-Type', 'text/plain'] }), 'body-unsupported')
})

t.test('only what must read the body waits for it', async (t) => {
  const fit = (...rules: ReturnType<typeof rule>[]) => compileRoutes(rules)('POST', '/rpc')
  t.equal(fit(rule('a'), rule('b', { 'body.v': [1] })).kind, 'matched', 'nothing is asked before the first rule')
  const byHeader = fit(rule('a', { 'header.x': ['1'] }), rule('b'))
  const byBody = fit(rule('a', { 'header.x': ['1'] }), rule('b', { 'body.v': [1] }))
  t.equal(byHeader.kind === 'choice' && choiceReadsBody(byHeader.options), false)
  t.equal(byBody.kind === 'choice' && choiceReadsBody(byBody.options), true)
})

t.test('parameters of the path belong to the rule that is asked', async (t) => {
  const choose = chooser(rule('a', { 'path.kind': ['x'] }, ['/t/:kind']), rule('b', { 'path.id': ['y'] }, ['/t/:id']))
  t.equal(choose({ url: '/t/x' }), 'a')
  t.equal(choose({ url: '/t/y' }), 'b')
  t.equal(choose({ url: '/t/%79' }), 'b')
  t.equal(choose({ url: '/t/..%2fx' }), 'ambiguous')
})

t.test('a rule with conditions and several patterns that fit is one rule, in every spelling of the path', async (t) => {
  const choose = chooser(rule('rpc', { 'body.v': [1] }, ['/rpc', '/rpc/*']))
  for (const url of ['/rpc', '/rpc/', '//rpc/', '/rpc/x/', '/%72pc/']) t.equal(choose({ url, body: '{"v":1}' }), 'rpc', url)
  t.equal(choose({ url: '/rpc/../x', body: '{"v":1}' }), 'ambiguous')
})

t.test('a rule that was chosen identifies as it would alone', async (t) => {
  const alone = { match: { methods: ['POST'], paths: [] }, digest: ['body'], digestIgnore: ['body.x'] }
  const asked = { ...alone, match: { ...alone.match, where: { 'body.v': [1] } } }
  t.same(identified(asked, { body: '{"v":1,"x":2}' }), identified(alone, { body: '{"v":1,"x":2}' }))
})

t.test('scope: rule leaves method and path out, and nothing else', async (t) => {
  const match = { methods: ['POST', 'PATCH'], paths: ['/phone/:id', '/web/*'] }
  const shared = { match, scope: 'rule' as const }
  const body = '{"v":1}'
  t.equal(fingerprint(shared, { url: '/phone/1', body }), fingerprint(shared, { url: '/web/a/b', method: 'PATCH', body }))
  t.not(fingerprint(shared, { url: '/phone/1', body }), fingerprint(shared, { url: '/phone/1', body: '{"v":2}' }))
  t.not(fingerprint(shared, { url: '/phone/1', body }), fingerprint({ ...shared, name: 'other' }, { url: '/phone/1', body }))
  t.not(fingerprint(shared, { url: '/phone/1', body }), fingerprint({ match }, { url: '/phone/1', body }))
  const byId = { ...shared, fingerprint: { v: 'body.v', id: { from: 'path.id', optional: true } } }
  t.not(fingerprint(byId, { url: '/phone/1', body }), fingerprint(byId, { url: '/phone/2', body }))
})
