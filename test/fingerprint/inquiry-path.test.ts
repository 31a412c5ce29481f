// The path by which the upstream is asked: every value percent-encoded, and none that would lead elsewhere.
import t from 'tap'
import { parsePathTemplate } from '../../src/config/path-template.ts'
import { compileInquiryPath, type InquiryPath } from '../../src/fingerprint/inquiry-path.ts'

const WORDS = { fingerprint: 'fp', execution: 'e-1', attempt: '2', key: 'a/b "c"' }

function render(template: string, body: unknown, params: Record<string, string> = {}): InquiryPath {
  const request = {
    method: 'POST',
    path: '/x',
    query: 'q=1&q=2',
    headers: ['Content-Type', 'application/json', 'X-Run', 'r&1'],
    host: 'h',
    ip: '::1',
    body: Buffer.from(JSON.stringify(body)),
    receivedAt: 0,
  }
  return compileInquiryPath(template).render(request, params, WORDS)
}

t.test('values are percent-encoded: a value is one segment, or one value of a query', async (t) => {
  t.same(render('/{fingerprint}/{execution}/{attempt}/{key}', {}), { path: '/fp/e-1/2/a%2Fb%20%22c%22' })
  t.same(render('/t/{path.id}?run={header.x-run}', {}, { id: 'ü?#/..' }), { path: '/t/%C3%BC%3F%23%2F..?run=r%261' })
  t.same(render("/{body.n}/{body['a.b']}/{ body.yes }", { n: 12, 'a.b': '+', yes: true }), { path: '/12/%2B/true' })
  t.same(render('/{ip}/{method}', {}), { path: '/%3A%3A1/POST' })
})

t.test('numbers are said as exactly as they were sent', async (t) => {
  const selector = compileInquiryPath('/{body.n}')
  const body = Buffer.from('{"n":9007199254740993}')
  const request = {
    method: 'POST',
    path: '/',
    query: undefined,
    headers: ['Content-Type', 'application/json'],
    host: '',
    ip: '',
    body,
    receivedAt: 0,
  }
  t.same(selector.render(request, {}, WORDS), { path: '/9007199254740993' })
})

t.test('what has no single value, or would lead elsewhere, cannot be asked', async (t) => {
  for (const value of [null, '', [1, 2], { a: 1 }, undefined, '\ud800']) t.same(render('/r/{body.v}', { v: value }), { missing: 'body.v' })
  t.same(render('/r/{query.q}', {}), { missing: 'query.q' })
  for (const value of ['.', '..']) t.same(render('/r/{body.v}/x', { v: value }), { missing: '/r/{body.v}/x' })
  t.same(render('/r/{body.v}.{body.v}', { v: '.' }), { path: '/r/...' })
  t.same(render('/r?at={body.v}', { v: '..' }), { path: '/r?at=..' })
})

t.test('a template is texts, names and selectors', async (t) => {
  t.same(parsePathTemplate('/a/{fingerprint}?x={body.y[0]}'), [
    { kind: 'text', text: '/a/' },
    { kind: 'name', name: 'fingerprint' },
    { kind: 'text', text: '?x=' },
    { kind: 'selector', text: 'body.y[0]' },
  ])
  for (const wrong of ['', 'a', '//host/a', '/{', '/}', '/{}', '/{a', '/a b', '/ü', '/a#b', '/{fp}'])
    t.throws(() => parsePathTemplate(wrong), wrong)
})
