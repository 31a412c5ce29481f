import t from 'tap'
import { fingerprint, identified, operation, refusal } from './requests.ts'

const rule = { fingerprint: { key: 'header.idempotency-key' } }
const withKey = (...lines: string[]) => ({ headers: lines.flatMap((line) => ['Idempotency-Key', line]) })
const keyOf = (line: string) => operation(rule, withKey(line)).clientKey

t.test('quoted and bare form of one value are one key', async (t) => {
  t.equal(fingerprint(rule, withKey('"abc"')), fingerprint(rule, withKey('abc')))
  t.equal(keyOf('"abc"'), 'abc')
  t.equal(keyOf('  abc\t'), 'abc')
  t.equal(keyOf('"a\\"b"'), 'a"b')
  t.equal(
    fingerprint(rule, withKey('"8e03978e-40d5-43dd-bc93-6894a57f9324"')),
    fingerprint(rule, withKey('8e03978e-40d5-43dd-bc93-6894a57f9324')),
  )
})

t.test('bare keys are opaque: nothing is cleaned away', async (t) => {
  const lines = [
    'user:1-2',
    'user:12',
    'a.b',
    'ab',
    'AB',
    'a, b',
    'a,b',
    'a;b',
    '0123',
    '123',
    ':b:',
    '?1',
    '@1',
    '\u00e2\u0082\u00ac',
    '%E2%82%AC',
    '*',
    'null',
  ]
  t.equal(new Set(lines.map((line) => fingerprint(rule, withKey(line)))).size, lines.length)
  for (const line of lines) t.equal(keyOf(line), line)
})

t.test('bad quoting, empty, blank, too long or sent twice is key-invalid', async (t) => {
  for (const line of ['"abc', 'abc"', '"', '"a"b', '"\\x"', '""', '"  "', '', '   ', 'a'.repeat(256), `"${'a'.repeat(256)}"`, '"é"']) {
    t.equal(refusal(rule, withKey(line)), 'key-invalid', line.slice(0, 10))
  }
  t.equal(refusal(rule, withKey('a', 'a')), 'key-invalid')
  t.equal(refusal(rule, withKey('a', '')), 'key-invalid')
  t.equal(keyOf('a'.repeat(255)), 'a'.repeat(255))
})

t.test('an empty key is refused even where the key is optional', async (t) => {
  const optional = { fingerprint: { key: { from: 'header.idempotency-key', optional: true }, v: 'body.v' } }
  t.equal(refusal(optional, { ...withKey(''), body: '{"v":1}' }), 'key-invalid')
})

t.test('a missing key is key-missing, or passes as the rule says', async (t) => {
  t.equal(refusal(rule, {}), 'key-missing')
  t.same(identified({ ...rule, onMissing: 'pass' }, {}), { kind: 'unguarded', reason: 'part-missing' })
  t.same(
    identified({ ...rule, onMissing: 'skip' }, {}),
    { kind: 'unguarded', reason: 'part-missing' },
    'nothing but the key tells requests apart',
  )
})

t.test('a key from elsewhere is checked the same way', async (t) => {
  const body = { fingerprint: { key: 'body.id' } }
  t.equal(operation(body, { body: '{"id":"k-1"}' }).clientKey, 'k-1')
  t.equal(operation(body, { body: '{"id":"\\"k\\""}' }).clientKey, '"k"', 'only headers are quoted')
  t.equal(operation(body, { body: '{"id":12}' }).clientKey, '12')
  t.equal(operation(body, { body: '{"id":9007199254740993}' }).clientKey, '9007199254740993e0')
  t.not(fingerprint(body, { body: '{"id":12}' }), fingerprint(body, { body: '{"id":"12"}' }))
  for (const id of ['""', '" "', 'null', 'true', '[]', '{}', `"${'a'.repeat(256)}"`])
    t.equal(refusal(body, { body: `{"id":${id}}` }), 'key-invalid', id.slice(0, 10))
  t.equal(refusal(body, { body: '{}' }), 'key-missing')
  t.equal(refusal({ fingerprint: { key: 'query.k' } }, { url: '/?k=1&k=1' }), 'key-invalid')
  const either = { fingerprint: { key: { from: ['header.idempotency-key', 'query.k'], optional: false } }, digest: [] }
  t.equal(operation(either, { url: '/?k=a' }).clientKey, 'a')
  t.equal(fingerprint(either, withKey('a')), fingerprint(either, { url: '/?k=a' }), 'the source is not part of the fact')
})

t.test('a refusal never quotes the key', async (t) => {
  const result = identified(rule, withKey('"s3cr3t'))
  t.notMatch(JSON.stringify(result), /s3cr3t/)
})
