// The contract's section "Equality", line by line, through the whole derivation.
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { fingerprint, identified, ofValue, refusal, shape } from './requests.ts'

function allDiffer(t: Test, texts: readonly string[]): void {
  t.equal(new Set(texts.map(ofValue)).size, texts.length, texts.join('  '))
}

function allEqual(t: Test, texts: readonly string[]): void {
  t.equal(new Set(texts.map(ofValue)).size, 1, texts.join('  '))
}

t.test('numbers are equal by exact decimal value', async (t) => {
  allEqual(t, ['1', '1.0', '1e0', '10e-1', '0.1e1', '1.00000000000000000000'])
  allEqual(t, ['100', '100.0', '1e2', '1E+2', '1.00E+2'])
  allEqual(t, ['0', '-0', '0.0', '-0e5', '0e999999999'])
  allEqual(t, ['1e400', '10e399', '0.1e401', '1E+400'])
  allEqual(t, ['9007199254740993', '9007199254740993.0', '9.007199254740993e15'])
  allDiffer(t, ['9007199254740992', '9007199254740993', '18446744073709551615', '18446744073709551614'])
  allDiffer(t, ['0.1', '0.10000000000000001', '1e400', '1e500', '-1e400', '1e-400', '0', 'null'])
})

t.test('a huge exponent costs nothing, an absurd one is refused', async (t) => {
  const started = performance.now()
  allDiffer(t, ['1e1000000000', '1e1000000001', '1e-1000000000'])
  t.ok(performance.now() - started < 100)
  t.equal(refusal({}, { body: `{"v":1e${'1'.repeat(200)}}` }), 'body-invalid')
})

t.test('property: numbers are equal exactly when their decimals are', async () => {
  const scale = 40n
  const literal = fc.record({
    minus: fc.boolean(),
    digits: fc.stringMatching(/^(?:0|[1-9]\d{0,19})$/),
    fraction: fc.stringMatching(/^\d{0,6}$/),
    exponent: fc.integer({ min: -12, max: 12 }),
  })
  type Literal = typeof literal extends fc.Arbitrary<infer T> ? T : never
  const exact = ({ minus, digits, fraction, exponent }: Literal) =>
    BigInt(digits + fraction) * 10n ** (scale + BigInt(exponent - fraction.length)) * (minus ? -1n : 1n)
  const text = ({ minus, digits, fraction, exponent }: Literal) => `${minus ? '-' : ''}${digits}${fraction && `.${fraction}`}e${exponent}`
  fc.assert(
    fc.property(literal, literal, fc.integer({ min: -5, max: 5 }), (one, other, shift) => {
      const moved = { ...one, digits: one.digits + '0'.repeat(Math.abs(shift)), exponent: one.exponent - Math.abs(shift) }
      if (!moved.digits.startsWith('00') && one.fraction === '' && ofValue(text(one)) !== ofValue(text(moved)) && one.digits !== '0')
        return false
      return (exact(one) === exact(other)) === (ofValue(text(one)) === ofValue(text(other)))
    }),
    { numRuns: 500 },
  )
})

t.test('types never mix: 1 and "1", null, absent and empty', async (t) => {
  allDiffer(t, [
    'null',
    '{}',
    '[]',
    '""',
    'false',
    '0',
    '"0"',
    'true',
    '1',
    '"1"',
    '[1]',
    '["1"]',
    '"null"',
    '"[]"',
    '{"a":null}',
    '[null]',
    '[[]]',
  ])
  const optional = { fingerprint: { v: { from: 'body.v', optional: true } } }
  const absent = fingerprint(optional, { body: '{}' })
  for (const json of ['null', '""', '{}', '[]', '0', 'false']) t.not(fingerprint(optional, { body: `{"v":${json}}` }), absent, json)
})

t.test('objects compare without order and white space, arrays with order', async (t) => {
  allEqual(t, ['{"a":1,"b":{"c":1,"d":2}}', '{ "b" : {"d":2,\n"c":1}, "a":1 }'])
  allEqual(t, ['{"2":1,"1":2,"a":3}', '{"a":3,"1":2,"2":1}'])
  allDiffer(t, ['[1,2]', '[2,1]', '[[1],2]', '[1,[2]]', '[1,2,[]]'])
  allDiffer(t, ['{"a":1,"b":2}', '{"a\\":1,\\"b":2}', '{"a":2,"b":1}', '{"a":{"b":2}}', '{"":1}', '{}'])
})

t.test('__proto__ counts', async (t) => {
  allDiffer(t, ['{"__proto__":{"x":1},"b":2}', '{"b":2}', '{"__proto__":{"x":2},"b":2}', '{"constructor":{"x":1},"b":2}'])
})

t.test('a repeated key is refused with its pointer, before anything is derived', async (t) => {
  t.equal(refusal({}, { body: '{"v":1,"other":{"a":1,"\\u0061":1}}' }), 'body-invalid')
})

t.test('strings compare as sent: no normalisation, no merging of broken ones', async (t) => {
  allDiffer(t, ['"a"', '"A"', '"a "', '"é"', '"e\u0301"', '"\\ud800"', '"\\ud801"', '"\ufffd"', '"\\udc00\\ud800"', '"\\ud800\\udc00"'])
  allEqual(t, ['"é"', '"\\u00e9"', '"\\u00E9"'])
  allEqual(t, ['"\u{1f600}"', '"\\ud83d\\ude00"'])
})

t.test('no character moves a boundary between parts', async (t) => {
  const rule = { fingerprint: { a: 'body.a', b: 'body.b' } }
  const of = (a: string, b: string) => fingerprint(rule, { body: JSON.stringify({ a, b }) })
  for (const moved of ['|', ':', '\n', '\u0000', '"', ',', ';', 's', '1', '3:s1:']) {
    t.not(of(`u${moved}1`, 'x'), of('u', `1${moved}x`), JSON.stringify(moved))
    t.not(of(`u${moved}`, 'x'), of('u', `${moved}x`), JSON.stringify(moved))
  }
  t.not(of('xy', 'z'), of('x', 'yz'))
  allDiffer(t, ['{"ab":"c"}', '{"a":"bc"}'])
})

t.test('property: two values share a fingerprint exactly when they are the same JSON', async () => {
  const small = fc.jsonValue({ maxDepth: 3 })
  fc.assert(
    fc.property(small, small, (one, other) => {
      const texts = [JSON.stringify(one), JSON.stringify(other)] as const
      return (shape(one) === shape(other)) === (ofValue(texts[0]) === ofValue(texts[1]))
    }),
  )
})

/** The same JSON with the members of every object in an order of their own. */
function shuffled(value: unknown, seed: number): unknown {
  if (Array.isArray(value)) return value.map((item) => shuffled(item, seed))
  if (value === null || typeof value !== 'object') return value
  const members = Object.entries(value)
  const at = seed % (members.length + 1)
  const turned = [...members.slice(at), ...members.slice(0, at)]
  if (seed % 2 === 1) turned.reverse()
  return Object.fromEntries(turned.map(([name, member]) => [name, shuffled(member, seed)]))
}

t.test('property: the order of members and white space never count, at any depth', async () => {
  const value = fc.jsonValue({ maxDepth: 4 })
  fc.assert(
    fc.property(value, fc.nat(1000), fc.constantFrom(0, 2, '\t'), (json, seed, space) => {
      const other = JSON.stringify(shuffled(json, seed), null, space)
      return ofValue(JSON.stringify(json)) === ofValue(other)
    }),
    { numRuns: 1000 },
  )
})

t.test('property: no bytes of a body end in anything but a fingerprint or a refusal', async () => {
  const rule = { fingerprint: { v: 'body.v', deep: { from: 'body..x', optional: true } }, digest: ['body'], digestIgnore: ['body[*].y'] }
  const pieces = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    '"',
    ':',
    ',',
    'v',
    '"v"',
    '"x"',
    '\\u',
    '\\ud800',
    '1e',
    '9'.repeat(30),
    '-',
    '\0',
    '=',
    '&',
    '%',
    '+',
    '%e',
  )
  const broken = fc.array(
    fc.oneof(
      pieces.map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 3 }).map((bytes) => Buffer.from(bytes)),
    ),
    { maxLength: 40 },
  )
  const whole = fc.json({ maxDepth: 4 }).map((text) => [Buffer.from(`{"v":${text}}`)])
  const type = fc.constantFrom('application/json', 'application/x-www-form-urlencoded')
  fc.assert(
    fc.property(fc.oneof(broken, whole), type, (chunks, contentType) => {
      const found = identified(rule, { headers: ['Content-Type', contentType], body: Buffer.concat(chunks) })
      return found.kind === 'guarded' || (found.kind === 'refused' && /^(?:body|field)-/.test(found.problem.name))
    }),
    { numRuns: 5000 },
  )
})
