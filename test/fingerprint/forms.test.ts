// Form bodies have fields like JSON ones: decoded, without the order of different names, without boundaries.
import t from 'tap'
import { compileRule } from '../../src/fingerprint/compile-rule.ts'
import { identify } from '../../src/fingerprint/identify.ts'
import { MAX_PARTS } from '../../src/fingerprint/multipart.ts'
import { withFields } from '../../src/fingerprint/with-fields.ts'
import type { RuleConfig } from '../../src/config/gateway-config.ts'
import { fingerprint, keys, operation, refusal, request, ruleConfig } from './requests.ts'
import { differingFields } from '../../src/fingerprint/digest-fields.ts'

const URLENCODED = ['Content-Type', 'application/x-www-form-urlencoded; charset=UTF-8']
const whole = { fingerprint: { v: 'body' } }
const ofForm = (body: string, settings: Partial<RuleConfig> = whole) => fingerprint(settings, { headers: URLENCODED, body })

t.test('urlencoded: one form in several spellings', async (t) => {
  t.equal(ofForm('a=1&b=2'), ofForm('b=2&a=1'))
  t.equal(ofForm('q=x+y'), ofForm('q=x%20y'))
  t.equal(ofForm('q=%C3%A9&&a'), ofForm('a=&q=%c3%a9'))
  t.equal(ofForm('%61=b'), ofForm('a=%62'))
})

t.test('urlencoded: what is not the same', async (t) => {
  const forms = [
    'a=1&a=2',
    'a=2&a=1',
    'a=1,2',
    'a[]=1&a[]=2',
    'a=1',
    'a=1&b=',
    'a=+',
    'a=%2B',
    'a=%E9',
    'a=%25E9',
    'a=%EF%BF%BD',
    '__proto__=1',
    '=1',
  ]
  t.equal(new Set(forms.map((form) => ofForm(form))).size, forms.length)
  t.not(ofForm('a=1'), fingerprint(whole, { body: '{"a":"2"}' }))
})

t.test('urlencoded: selectors, steps and the digest see its fields', async (t) => {
  const amount = { fingerprint: { v: { from: 'body.amount', apply: ['number' as const], optional: false } } }
  t.equal(ofForm('amount=1.50&at=3', amount), ofForm('at=4&amount=1.5', amount))
  t.equal(ofForm('amount=1.50', amount), fingerprint(amount, { body: '{"amount":1.5}' }), 'one fact, whatever carries it')
  t.equal(refusal(amount, { headers: URLENCODED, body: 'b=1' }), 'field-missing')
  const listed = { fingerprint: { v: 'body.id[*]' } }
  t.not(ofForm('id=a&id=b', listed), ofForm('id=b&id=a', listed))
  const keyed = { fingerprint: { key: 'header.k' }, digestIgnore: ['body.trace'] }
  const sent = (body: string) => operation(keyed, { headers: ['K', 'a', ...URLENCODED], body })
  t.equal(sent('a=1&trace=1').digest, sent('trace=2&a=1').digest)
  t.same(differingFields(sent('a=1&b=1').digestFields, sent('a=2&b=1').digestFields), ['/a'])
})

type Part = [name: string, value: string | Buffer, type?: string, file?: string]

function multipart(boundary: string, parts: readonly Part[]): { headers: string[]; body: Buffer } {
  const chunks = parts.flatMap(([name, value, type, file]) => [
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file === undefined ? '' : `; filename="${file}"`}\r\n`,
    type === undefined ? '\r\n' : `Content-Type: ${type}\r\n\r\n`,
    value,
    '\r\n',
  ])
  const body = Buffer.concat([...chunks, `--${boundary}--\r\n`].map((chunk) => Buffer.from(chunk)))
  return { headers: ['Content-Type', `multipart/form-data; boundary=${boundary}`], body }
}

async function ofMultipart(parts: readonly Part[], settings: Partial<RuleConfig> = whole, boundary = 'x7'): Promise<string> {
  return result(multipart(boundary, parts), settings)
}

async function result(sent: { headers: string[]; body: Buffer }, settings: Partial<RuleConfig> = whole): Promise<string> {
  const identified = identify(compileRule(ruleConfig(settings)), await withFields(request(sent)), { params: {}, pattern: '' }, keys)
  if (identified.kind === 'guarded') return identified.operation.fingerprint
  return identified.kind === 'refused' ? identified.problem.name : identified.kind
}

t.test('multipart: boundary, file name and the order of different names do not count', async (t) => {
  const form: Part[] = [
    ['a', '1'],
    ['photo', Buffer.from([0, 255, 13, 10, 45, 45]), 'image/png', 'a.png'],
    ['b', 'é'],
  ]
  const one = await ofMultipart(form)
  t.match(one, /^[\w-]{44}$/)
  t.equal(await ofMultipart(form, whole, '----WebKitFormBoundaryQx'), one)
  t.equal(await ofMultipart([form[2]!, form[0]!, ['photo', form[1]![1], 'image/png', 'b.png']]), one)
  t.equal(await ofMultipart([['a', '1']]), ofForm('a=1'), 'the same fields as in the other kind of form')
})

t.test('multipart: what is not the same', async (t) => {
  const png = Buffer.from([1, 2, 3])
  const forms: Part[][] = [
    [['a', png, 'image/png', 'f']],
    [['a', Buffer.from([1, 2, 4]), 'image/png', 'f']],
    [['a', png, 'image/gif', 'f']],
    [['b', png, 'image/png', 'f']],
    [
      ['a', png, 'image/png', 'f'],
      ['a', png, 'image/png', 'f'],
    ],
    [['a', 'x', 'text/plain', 'f']],
    [['a', 'x']],
    [
      ['a', 'x'],
      ['a', 'y'],
    ],
    [
      ['a', 'y'],
      ['a', 'x'],
    ],
    [['a', Buffer.from([0xe9])]],
    [['a', Buffer.from([0xe8])]],
    [],
  ]
  const made = await Promise.all(forms.map((form) => ofMultipart(form)))
  t.equal(new Set(made).size, forms.length)
})

t.test('multipart: fields by selector', async (t) => {
  const rule = { fingerprint: { v: 'body.doc.sha256', k: 'body.kind' } }
  const doc = (bytes: string, name: string): Part => ['doc', bytes, 'application/pdf', name]
  t.equal(
    await ofMultipart([['kind', 'cv'], doc('abc', 'one.pdf')], rule),
    await ofMultipart([doc('abc', 'two.pdf'), ['kind', 'cv']], rule),
  )
  t.not(await ofMultipart([['kind', 'cv'], doc('abc', 'one.pdf')], rule), await ofMultipart([['kind', 'cv'], doc('abd', 'one.pdf')], rule))
})

t.test('multipart: what cannot be read is refused, with no end of the process', async (t) => {
  const good = multipart('x7', [['a', 'value']])
  t.equal(await result({ ...good, body: good.body.subarray(0, -8) }), 'body-invalid', 'breaks off')
  t.equal(await result({ ...good, headers: ['Content-Type', 'multipart/form-data'] }), 'body-invalid', 'no boundary')
  t.equal(await result({ ...good, body: Buffer.from('nonsense') }), 'body-invalid')
  const many = Array.from({ length: MAX_PARTS + 1 }, (_, n): Part => [`p${n}`, ''])
  t.equal(await ofMultipart(many), 'body-invalid')
  t.match(await ofMultipart(many.slice(1)), /^[\w-]{44}$/)
  const unnamed = Buffer.from('--x7\r\nContent-Disposition: form-data\r\n\r\nv\r\n--x7--\r\n')
  t.equal(await result({ ...good, body: unnamed }), 'body-invalid')
  const compressed = [...good.headers, 'Content-Encoding', 'gzip']
  t.equal(await result({ ...good, headers: compressed }, { fingerprint: { v: 'body.a' } }), 'body-unsupported')
  t.match(await result({ ...good, headers: compressed }), /^[\w-]{44}$/, 'whole, it is its bytes')
})

t.test('multipart: large files, chunk by chunk', async (t) => {
  const file = Buffer.alloc(3 << 20, 'abc')
  t.equal(await ofMultipart([['f', file, 'a/b', 'f']]), await ofMultipart([['f', file, 'a/b', 'g']], whole, 'another'))
  file[2_000_000] = 0
  t.not(await ofMultipart([['f', file, 'a/b', 'f']]), await ofMultipart([['f', Buffer.alloc(3 << 20, 'abc'), 'a/b', 'f']]))
})
