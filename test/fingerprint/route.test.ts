import t from 'tap'
import { compileRule } from '../../src/fingerprint/compile-rule.ts'
import { compileRoutes } from '../../src/fingerprint/route.ts'
import { fingerprint, ruleConfig } from './requests.ts'

const rule = (name: string, paths: string[], methods = ['POST']) => compileRule(ruleConfig({ name, match: { methods, paths } }))

const route = compileRoutes([
  rule('pay', ['/v1/pay', '/tasks/:taskId/sections', '/orders/*', '/models/:model(^\\w+$)', '/x/gen::run']),
  rule('any', ['/v1/:any']),
  rule('put', ['/things/:id'], ['PUT']),
])

function verdict(path: string, method = 'POST'): string {
  const match = route(method, path)
  return match.kind === 'matched' ? match.rule.config.name : match.kind
}

t.test('the first rule in the order of the file guards, whichever is more specific', async (t) => {
  const ordered = compileRoutes([rule('first', ['/a/:x']), rule('second', ['/a/b'])])
  const match = ordered('POST', '/a/b')
  t.equal(match.kind === 'matched' && match.rule.config.name, 'first')
  t.equal(verdict('/v1/other'), 'any')
})

t.test('every spelling of a path gets its rule', async (t) => {
  for (const path of [
    '/v1/pay',
    '/v1/%70ay',
    '/v1/%70%61%79',
    '//v1/pay',
    '/v1//pay',
    '/v1/pay/',
    '/V1/PAY',
    '/v1/pay//',
    'http://evil.test/v1/pay',
  ]) {
    t.equal(verdict(path), 'pay', path)
  }
})

t.test('what could be read as a guarded path is ambiguous', async (t) => {
  const paths = [
    '/orders/..%2fadmin',
    '/orders/%2e%2e/admin',
    '/orders/..\\admin',
    '/orders/..%5cadmin',
    '/v1/x/../pay',
    '/public/..%2fv1/pay',
    '/public/%2e%2e%2fv1%2fpay',
    '/v1/./pay',
    '/v1/..;/v1/pay',
    '/a//../v1/pay',
    '/v1%2fpay',
    '/v1\\pay',
    '/v1%5Cpay',
    '/v1/pay;v=1',
    '/v1/pay%3bv=1',
    '/v1/pay%00',
    '/v1/pay%00.png',
    '/v1/pay%0a',
    '/v1/pay%3Fx',
    '/v1/pay%23x',
    '/v1/pay#x',
    '/v1/%2570ay',
    '/x/gen%3Arun',
    '/tasks/%ff/sections',
    '/tasks/%zz/sections',
    '/tasks/%/sections',
    '/tasks/\u00e9/sections',
    '/v1/other/.',
  ]
  for (const path of paths) t.equal(verdict(path), 'ambiguous', path)
})

t.test('honest ids pass: escapes, dots, parameters, great length', async (t) => {
  const params = (path: string) => {
    const match = route('POST', path)
    return match.kind === 'matched' ? match.params : match
  }
  t.same(params('/tasks/group%2Fproj/sections'), { taskId: 'group/proj' })
  t.same(params('/tasks/a.b..c/sections'), { taskId: 'a.b..c' })
  t.same(params('/tasks/...%20x/sections'), { taskId: '... x' })
  t.same(params('/tasks/%E6%BC%A2/sections'), { taskId: '漢' })
  t.same(params('/tasks/AbC/Sections'), { taskId: 'AbC' })
  t.same(params('/tasks/100%25/sections'), { taskId: '100%' })
  t.same(params('/tasks/a%2525/sections'), { taskId: 'a%25' })
  t.same(params('/tasks/what%3F/sections'), { taskId: 'what?' })
  t.same(params(`/tasks/${'x'.repeat(5000)}/sections`), { taskId: 'x'.repeat(5000) })
  t.same(params('/orders/a/b'), { '*': 'a/b' })
  t.same(params('/orders/'), { '*': '' })
})

t.test('a letter that grows in lower case does not lose the rule', async (t) => {
  const match = route('POST', '/tasks/%C4%B0stanbul/sections')
  t.same(match.kind === 'matched' && match.params, { taskId: '\u0130stanbul' })
})

t.test('what no reading guards passes untouched', async (t) => {
  for (const path of [
    '/',
    '/elsewhere',
    '/elsewhere/..',
    '/elsewhere/%ff',
    '/v1',
    '*',
    '/v1/a/b',
    '/tasks/1',
    '/things/1',
    '/orders',
    '',
  ]) {
    t.equal(verdict(path), 'unmatched', path)
  }
})

t.test("methods: the rule's own, and never HEAD, OPTIONS, TRACE", async (t) => {
  t.equal(verdict('/things/1', 'PUT'), 'put')
  for (const method of ['GET', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'post', 'constructor'])
    t.equal(verdict('/v1/pay', method), 'unmatched', method)
  const everything = compileRoutes([rule('all', [], ['HEAD', 'OPTIONS', 'TRACE', 'GET'])])
  t.equal(everything('HEAD', '/').kind, 'unmatched')
  t.equal(everything('GET', '/x').kind, 'matched')
})

t.test('a rule without paths guards every path, in every spelling', async (t) => {
  const all = compileRoutes([rule('all', [])])
  for (const path of ['/', '/a/b/', '//x', '/a%2Fb', '/a;b', '/%20']) t.equal(all('POST', path).kind, 'matched', path)
  for (const path of ['/a/../b', '/%ff', '/%00']) t.equal(all('POST', path).kind, 'ambiguous', path)
})

t.test('an odd path that differs only by rule is ambiguous, not the first one found', async (t) => {
  const two = compileRoutes([rule('inner', ['/a/b/c']), rule('outer', ['/a/:x'])])
  t.equal(two('POST', '/a/b%2Fc').kind, 'ambiguous')
  t.equal(two('POST', '/a/b%2Fd').kind, 'matched')
})

t.test('the spellings of a path share one record, other paths do not', async (t) => {
  const settings = { match: { methods: ['POST'], paths: ['/v1/pay', '/t/:id', '/files/*'] }, fingerprint: { c: { value: 1 } } }
  const of = (url: string) => fingerprint(settings, { url })
  for (const url of ['/v1/%70ay', '//v1/pay', '/V1/pay/', '/v1/pay?x=1']) t.equal(of(url), of('/v1/pay'), url)
  t.equal(of('/t/%61'), of('/t/a'))
  t.not(of('/t/A'), of('/t/a'))
  t.not(of('/files/a%2Fb'), of('/files/a/b'))
  t.equal(of('/files/a%2fb'), of('/files//a%2Fb/'))
  const anywhere = { fingerprint: { c: { value: 1 } } }
  t.equal(fingerprint(anywhere, { url: '/v1/%70ay/' }), fingerprint(anywhere, { url: '//v1/pay' }))
  t.not(fingerprint(anywhere, { url: '/v1/a' }), fingerprint(anywhere, { url: '/v1/b' }))
})

t.test('odd paths cost time that grows with their length only', async (t) => {
  for (const piece of ['/..', '%2f', ';', '\\', '//', '%', '/.;', '%25']) {
    const path = piece.repeat(16_384 / piece.length)
    const started = performance.now()
    route('POST', path)
    route('POST', `/${path}`)
    t.ok(performance.now() - started < 1000, piece)
  }
})
