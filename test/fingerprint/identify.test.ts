import fc from 'fast-check'
import t from 'tap'
import { constant, encode, encodeNamed, type CanonicalValue } from '../../src/fingerprint/canonical.ts'
import { compileRule } from '../../src/fingerprint/compile-rule.ts'
import { fingerprint, identified, operation, refusal, ruleConfig, shape } from './requests.ts'

const body = '{"v":1}'

t.test('rule, method and path are part of every fingerprint', async (t) => {
  const of = (name: string, method: string, url: string) =>
    fingerprint({ name, match: { methods: ['POST', 'PATCH'], paths: [] } }, { method, url, body })
  const made = [of('a', 'POST', '/a'), of('a', 'POST', '/b'), of('a', 'PATCH', '/a'), of('b', 'POST', '/a')]
  t.equal(new Set(made).size, 4)
})

t.test('the order of the parts in the file does not matter, their names do', async (t) => {
  const two = (fingerprint: Record<string, string>) => ({ fingerprint })
  const sent = { body: '{"a":1,"b":2}' }
  t.equal(fingerprint(two({ x: 'body.a', y: 'body.b' }), sent), fingerprint(two({ y: 'body.b', x: 'body.a' }), sent))
  t.not(fingerprint(two({ x: 'body.a', y: 'body.b' }), sent), fingerprint(two({ x: 'body.b', y: 'body.a' }), sent))
})

t.test('a missing part is refused by name, passes, or is left out', async (t) => {
  const result = identified({}, { body: '{}' })
  t.match(result, { kind: 'refused', problem: { name: 'field-missing', detail: /body\.v/ } })
  t.same(identified({ onMissing: 'pass' }, { body: '{}' }), { kind: 'unguarded', reason: 'part-missing' })
  const both = { fingerprint: { v: 'body.v', w: 'body.w' }, onMissing: 'skip' as const }
  t.equal(fingerprint(both, { body: '{"w":1}' }), fingerprint({ fingerprint: { w: 'body.w' } }, { body: '{"w":1}' }))
  t.not(fingerprint(both, { body: '{"w":1}' }), fingerprint(both, { body: '{"w":1,"v":null}' }))
})

t.test('optional, default, value and fallback lists', async (t) => {
  const withDefault = { fingerprint: { v: { from: 'body.v', optional: false, default: 100 } } }
  t.equal(fingerprint(withDefault, { body: '{}' }), fingerprint(withDefault, { body: '{"v":1e2}' }))
  t.not(fingerprint(withDefault, { body: '{}' }), fingerprint(withDefault, { body: '{"v":"100"}' }))
  const fraction = { fingerprint: { v: { from: 'body.v', optional: false, default: 0.30000000000000004 } } }
  t.equal(fingerprint(fraction, { body: '{}' }), fingerprint(fraction, { body: '{"v":0.30000000000000004}' }))
  const listed = { fingerprint: { v: { from: ['header.x-v', 'body.v'], optional: false } } }
  t.equal(fingerprint(listed, { headers: ['X-V', 'a'], body: '{"v":"b"}' }), fingerprint(listed, { body: '{"v":"a"}' }))
  t.equal(refusal(listed, { body: '{}' }), 'field-missing')
  t.not(fingerprint({ fingerprint: { v: { value: 'A' } } }, {}), fingerprint({ fingerprint: { v: { value: 'B' } } }, {}))
})

t.test('several values count in order, one list is not its items', async (t) => {
  const skus = { fingerprint: { s: 'body.items[*].sku' } }
  const of = (...list: unknown[]) => fingerprint(skus, { body: JSON.stringify({ items: list.map((sku) => ({ sku })) }) })
  t.equal(of('a', 'b'), of('a', 'b'))
  t.not(of('a', 'b'), of('b', 'a'))
  t.not(of(['a', 'b']), of('a', 'b'))
  t.not(of(['a']), of('a'))
})

t.test('headers: every line of the name, in order, trimmed, whatever its case', async (t) => {
  const rule = { fingerprint: { h: 'header.X-Thing' } }
  t.equal(fingerprint(rule, { headers: ['x-thing', ' a '] }), fingerprint(rule, { headers: ['X-THING', 'a'] }))
  t.not(fingerprint(rule, { headers: ['x-thing', 'a', 'x-thing', 'b'] }), fingerprint(rule, { headers: ['x-thing', 'a, b'] }))
  t.not(fingerprint(rule, { headers: ['x-thing', ''] }), fingerprint(rule, { headers: ['x-thing', 'a'] }))
  t.equal(refusal(rule, { headers: ['x-thing2', 'a'] }), 'field-missing')
})

t.test('the other sources', async (t) => {
  const of = (selector: string, sent: Parameters<typeof fingerprint>[1]) =>
    fingerprint({ fingerprint: { p: selector }, match: { methods: ['POST'], paths: ['/t/:id', '/u/*'] } }, sent)
  t.not(of('path.id', { url: '/t/1' }), of('path.id', { url: '/t/2' }))
  t.equal(of('url.path', { url: '/t/%31/' }), of('url.path', { url: '/t/1' }))
  t.equal(
    of('cookie.s', { url: '/t/1', headers: ['Cookie', 'a=1; s=x'] }),
    of('cookie.s', { url: '/t/1', headers: ['Cookie', 's=x', 'Cookie', 'b=2'] }),
  )
  t.not(of('cookie.s', { url: '/t/1', headers: ['Cookie', 's=%41'] }), of('cookie.s', { url: '/t/1', headers: ['Cookie', 's=A'] }))
  for (const whole of ['host', 'ip', 'method']) t.ok(of(whole, { url: '/t/1' }))
  t.equal(refusal({ fingerprint: { p: 'path.toString' } }, {}), 'field-missing')
  t.equal(refusal({ fingerprint: { p: 'cookie.__proto__' } }, {}), 'field-missing')
})

t.test('body fields need JSON or a form: another type is body-unsupported, no body is absent', async (t) => {
  const typed = (type: string, extra: string[] = []) => ({ headers: ['Content-Type', type, ...extra], body })
  for (const type of [
    'application/json',
    'Application/JSON; charset=utf-8',
    'application/vnd.api+json',
    'application/merge-patch+json;q=1',
  ]) {
    t.equal(identified({}, typed(type)).kind, 'guarded', type)
  }
  for (const type of ['text/plain', 'application/jsonp', 'json', '']) t.equal(refusal({}, typed(type)), 'body-unsupported', type)
  t.equal(refusal({}, typed('application/json', ['Content-Encoding', 'gzip'])), 'body-unsupported')
  t.equal(refusal({}, typed('application/json', ['Content-Type', 'text/plain'])), 'body-unsupported')
  t.equal(refusal({}, { body: '' }), 'field-missing')
  t.equal(refusal({}, { headers: ['Content-Type', 'text/plain'], body: '' }), 'field-missing')
  t.match(identified({}, { body: '{"v":s3cr3t}' }), { kind: 'refused', problem: { name: 'body-invalid', detail: /character 5/ } })
  t.notMatch(JSON.stringify(identified({}, { body: '{"v":s3cr3t}' })), /s3cr3t/)
})

t.test('whole bodies of other types are their bytes', async (t) => {
  const of = (type: string, bytes: Buffer) => fingerprint({ fingerprint: { b: 'body' } }, { headers: ['Content-Type', type], body: bytes })
  const two = [Buffer.from([0xff, 0]), Buffer.from([0xfe, 0]), Buffer.from('\ufffd\0')].map((bytes) =>
    of('application/octet-stream', bytes),
  )
  t.equal(new Set(two).size, 3)
  t.not(of('text/plain', Buffer.from('"a"')), of('application/json', Buffer.from('"a"')))
})

t.test('readsBody is true exactly where some selector reads it', async (t) => {
  const reads = (settings: Parameters<typeof ruleConfig>[0]) => compileRule(ruleConfig(settings)).readsBody
  t.equal(reads({ fingerprint: { q: 'query' } }), false)
  t.equal(reads({ fingerprint: { b: 'body.a' } }), true)
  t.equal(reads({ fingerprint: { key: 'header.k' } }), true)
  t.equal(reads({ fingerprint: { key: 'header.k' }, digest: ['query'] }), false)
  t.equal(reads({ fingerprint: { q: { from: ['query.a', 'body.a'], optional: true } } }), true)
  t.equal(reads({ fingerprint: { q: 'query' }, owner: ['body.user'] }), true)
})

t.test('an optional key may be absent where other parts name the fact', async (t) => {
  const rule = { fingerprint: { v: 'body.v', key: { from: 'header.k', optional: true } } }
  t.equal(operation(rule, { body }).clientKey, undefined)
  t.not(fingerprint(rule, { body }), fingerprint(rule, { body, headers: ['K', 'a'] }))
  t.same(identified({ fingerprint: { key: { from: 'header.k', optional: true } } }, {}), { kind: 'unguarded', reason: 'part-missing' })
})

t.test('property: the encoding is injective over values, and no encoding begins another', async () => {
  const value: fc.Arbitrary<CanonicalValue> = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }).map((json) => json as CanonicalValue),
    fc.string({ unit: 'binary' }),
    fc.uint8Array({ maxLength: 4 }),
    fc.integer().map((n) => constant(n)),
  )
  fc.assert(
    fc.property(value, value, (one, other) => {
      const [a, b] = [encode(one), encode(other)]
      const same = shape(one) === shape(other)
      return same ? a === b : !a.startsWith(b) && !b.startsWith(a)
    }),
    { numRuns: 3000 },
  )
})

t.test('property: two different lists of named parts never share an encoding', async () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', ':', ';', 's', '1', '|', '"'), maxLength: 4 })
  const parts = fc.uniqueArray(fc.tuple(text, text), { selector: ([name]) => name, maxLength: 4 })
  const encoded = (list: readonly (readonly [string, string])[]) => encodeNamed(list.map(([name, value]) => [name, encode(value)] as const))
  const sorted = (list: readonly (readonly [string, string])[]) => JSON.stringify(list.toSorted(([a], [b]) => (a < b ? -1 : 1)))
  fc.assert(
    fc.property(parts, parts, (one, other) => (sorted(one) === sorted(other)) === (encoded(one) === encoded(other))),
    { numRuns: 5000 },
  )
})

t.test('hostile bodies are refused or named in time that grows with their length only', async (t) => {
  const size = 1 << 20
  const rule = { fingerprint: { key: 'header.k', all: 'body', deep: { from: 'body..x', optional: true } }, digestIgnore: ['body[*].y'] }
  const bodies = [
    `[${'[],'.repeat(size / 3)}0]`,
    `[${'{"x":1,"y":2},'.repeat(size / 14)}0]`,
    `{${Array.from({ length: size / 10 }, (_, n) => `"k${n}":0`).join(',')}}`,
    '['.repeat(500) + ']'.repeat(500),
    `"${'\\ud800'.repeat(size / 6)}"`,
    `1e${'9'.repeat(size)}`,
  ]
  for (const hostile of bodies) {
    const started = performance.now()
    identified(rule, { headers: ['K', 'a'], body: hostile })
    t.ok(performance.now() - started < 4000, `${hostile.slice(0, 10)}… ${performance.now() - started}`)
  }
})
