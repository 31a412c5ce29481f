import fc from 'fast-check'
import t from 'tap'
import { differingFields } from '../../src/fingerprint/digest-fields.ts'
import { operation, refusal, type Sent } from './requests.ts'
import type { RuleConfig } from '../../src/config/gateway-config.ts'

const byKey = { fingerprint: { key: 'header.idempotency-key' } }
const key = ['Idempotency-Key', 'k1']
const send = (body: string, more: Sent = {}) => ({ headers: key, body, ...more })

function difference(one: Sent, other: Sent, settings: Partial<RuleConfig> = byKey): string[] | 'equal' {
  const [a, b] = [operation(settings, one), operation(settings, other)]
  if (a.fingerprint !== b.fingerprint) throw new Error('another fact')
  const fields = differingFields(a.digestFields, b.digestFields)
  if (a.digest !== b.digest) return fields
  if (fields.length > 0) throw new Error('equal digests, other fields')
  return 'equal'
}

t.test('a rule with a key part compares query and body, others nothing', async (t) => {
  t.same(difference(send('{"amount":1}'), send('{"amount":2}')), ['/amount'])
  t.same(difference(send('{}', { url: '/?to=alice' }), send('{}', { url: '/?to=mallory' })), ['query.to'])
  t.same(difference(send('{}', { url: '/?dry=1' }), send('{}')), ['query.dry'])
  const { digest, digestFields } = operation({}, { body: '{"v":1}' })
  t.same([digest, digestFields], ['', ''])
})

t.test('what "Equality" calls equal has an equal digest', async (t) => {
  t.equal(difference(send('{"a":1,"b":[1,{"c":null}]}'), send(' { "b":[1.0,{"c":null}],"a":1e0 } ')), 'equal')
  t.equal(difference(send('{}', { url: '/?a=1&b=%32' }), send('{}', { url: '/?b=2&a=1' })), 'equal')
})

t.test('the fields that differ are named by pointer, at any depth that is told apart', async (t) => {
  const names = (one: string, other: string) => difference(send(one), send(other))
  t.same(names('{"a":{"b":[1,{"c/d":1}]}}', '{"a":{"b":[1,{"c/d":2}]}}'), ['/a/b/1/c~1d'])
  t.same(names('{"a":1,"b":2}', '{"a":2,"b":3}'), ['/a', '/b'])
  t.same(names('{"a":1}', '{"a":1,"b":2}'), ['/b'])
  t.same(names('{"a":null}', '{}'), ['/a'])
  t.same(names('[1]', '{"0":1}'), [], 'the same members in another shape: nothing to name')
  t.same(names('1', '2'), ['body'])
  t.same(names('{"items":[1,2]}', '{"items":[1,2,3]}'), ['/items/2'])
})

t.test('a list too long to be told apart counts as one', async (t) => {
  const list = (last: number) => JSON.stringify({ id: 1, items: [...Array(100).keys(), last] })
  t.same(difference(send(list(1)), send(list(2))), ['/items'])
  const { digestFields } = operation(byKey, send(JSON.stringify(Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`k${n}`, n])))))
  t.ok(digestFields.length < 100)
})

t.test('never more than 32 fields, and how one member is split does not hang on its neighbours', async (t) => {
  const wide = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n]))
  const nested = { a: { b: wide(20), c: wide(20) }, d: wide(8), e: { f: wide(4) } }
  const { digestFields } = operation(byKey, send(JSON.stringify(nested)))
  t.ok((digestFields.match(/:/g) ?? []).length <= 32)
  t.same(difference(send(JSON.stringify({ ...nested, a: 1 })), send(JSON.stringify(nested))), ['/a'])
})

t.test('long values differ by their hash', async (t) => {
  const long = (end: string) => send(JSON.stringify({ a: 'x'.repeat(100_000) + end, b: '漢'.repeat(1000) }))
  t.same(difference(long('1'), long('2')), ['/a'])
  t.equal(difference(long('1'), long('1')), 'equal')
})

t.test('digestIgnore leaves fields of body and query out', async (t) => {
  const rule = { ...byKey, digestIgnore: ['body.trace_id', 'body.items[*].at', 'body.list[0,2]', 'query.utm'] }
  t.equal(difference(send('{"a":1,"trace_id":"x"}'), send('{"a":1}'), rule), 'equal')
  t.equal(difference(send('{"items":[{"n":1,"at":1},{"at":2}]}'), send('{"items":[{"n":1},{"at":5}]}'), rule), 'equal')
  t.equal(difference(send('{"list":[1,2,3]}'), send('{"list":[8,2,9]}'), rule), 'equal')
  t.same(difference(send('{"list":[1,2,3]}'), send('{"list":[1,4,3]}'), rule), ['/list/0'])
  t.equal(difference(send('{}', { url: '/?utm=1&a=1' }), send('{}', { url: '/?a=1&utm=2&utm=3' }), rule), 'equal')
  t.same(difference(send('{"a":1}'), send('{"a":2}'), rule), ['/a'])
  t.equal(difference(send('{"a":1}'), send('{"a":2}'), { ...byKey, digestIgnore: ['body'] }), 'equal')
})

t.test('ignored fields still count in the fingerprint', async (t) => {
  const rule = { fingerprint: { ...byKey.fingerprint, all: 'body' }, digestIgnore: ['body.a'] }
  t.not(operation(rule, send('{"a":1}')).fingerprint, operation(rule, send('{"a":2}')).fingerprint)
})

t.test('digest selectors of every kind', async (t) => {
  const rule = { ...byKey, digest: ['body.a', 'body.items[*].sku', 'header.x-tenant', 'query.to'] }
  t.equal(difference(send('{"a":1,"z":1}'), send('{"a":1,"z":2}'), rule), 'equal')
  t.same(difference(send('{"items":[{"sku":1}]}'), send('{"items":[{"sku":2}]}'), rule), ['/items/0/sku'])
  t.same(difference(send('{}', { headers: [...key, 'X-Tenant', 'a'] }), send('{}'), rule), ['header.x-tenant'])
  t.same(difference(send('{}', { url: '/?to=a&x=1' }), send('{}', { url: '/?to=b' }), rule), ['query.to'])
})

t.test('bytes of another type are compared as they are', async (t) => {
  const text = (body: string | Buffer) => ({ headers: [...key, 'Content-Type', 'text/plain'], body })
  t.same(difference(text('{"a":1}'), text('{ "a":1}')), ['body'])
  t.equal(difference(text(Buffer.from([0xff, 0])), text(Buffer.from([0xff, 0]))), 'equal')
  t.same(difference(text(Buffer.from([0xff])), text(Buffer.from([0xfe]))), ['body'])
  const gzip = { headers: [...key, 'Content-Type', 'application/json', 'Content-Encoding', 'gzip'], body: Buffer.from([0x1f, 0x8b]) }
  t.ok(operation(byKey, gzip).digest)
  t.same(difference(send('{"a":1}'), send('')), ['/a'])
})

t.test('broken JSON is body-invalid where the digest needs it', async (t) => {
  t.equal(refusal(byKey, send('{"a":')), 'body-invalid')
  t.equal(refusal(byKey, send('{"a":1,"a":1}')), 'body-invalid')
})

t.test('the same fields in another record have other hashes', async (t) => {
  const one = operation(byKey, send('{"a":1,"b":1}'))
  const other = operation(byKey, { headers: ['Idempotency-Key', 'k2'], body: '{"a":1,"b":1}' })
  t.equal(one.digest, other.digest)
  t.not(one.digestFields, other.digestFields)
})

t.test('property: digests agree exactly when the fields do, and a changed field is named', async () => {
  const value = fc.jsonValue({ maxDepth: 3 })
  fc.assert(
    fc.property(fc.dictionary(fc.string({ maxLength: 4 }), value), fc.string({ maxLength: 4 }), value, value, (rest, name, one, other) => {
      const body = (member: unknown) => JSON.stringify(Object.fromEntries([...Object.entries(rest), [name, member]]))
      const found = difference(send(body(one)), send(body(other)))
      if (found === 'equal') return true
      const pointer = `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
      return found.every((field) => field === pointer || field.startsWith(`${pointer}/`) || field === 'body')
    }),
  )
})

t.test('a text that this version did not write names nothing', async (t) => {
  for (const text of ['x', '9:', '99:aaa', ':', '-1:', '1:a']) t.same(differingFields(text, text), [])
})
