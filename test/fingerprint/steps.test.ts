// Each step of `apply`: which values it makes one, and which it leaves apart.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import t from 'tap'
import type { StepSetting } from '../../src/config/step-schema.ts'
import { parseJson } from '../../src/fingerprint/json.ts'
import { encodeList } from '../../src/fingerprint/canonical.ts'
import { Refusal } from '../../src/fingerprint/refusal.ts'
import { compileSteps } from '../../src/fingerprint/steps/compile-steps.ts'
import { loadPlugin, plugin } from '../../src/fingerprint/steps/plugins.ts'
import { NOW, fingerprint, operation, refusal } from './requests.ts'

/** The canonical form of a JSON value after the steps; `missing` where nothing is left. */
function applied(steps: readonly StepSetting[], json: string): string {
  const values = compileSteps(steps)!([parseJson(json)], { receivedAt: NOW })
  return values.length === 0 ? 'missing' : encodeList(values)
}

const same: [name: string, steps: StepSetting[], ...values: string[]][] = [
  ['trim', ['trim'], '" a b "', '"a b"', '"\\ta b\\u3000"'],
  ['lower', ['lower'], '"ÄB"', '"äb"'],
  ['upper', ['upper'], '"straße"', '"STRASSE"'],
  ['nfc', ['nfc'], '"caf\\u00e9"', '"cafe\\u0301"'],
  ['nfkc', ['nfkc'], '"ＡＢ１"', '"AB1"'],
  ['collapseSpace', ['collapseSpace'], '" a  b\\n c "', '"a b c"'],
  ['texts within a list', ['lower'], '["A",["B"]]', '["a",["b"]]'],
  ['integer', ['integer'], '7', '"7"', '7.0', '"007"', '" +7 "', '"7.0"', '70e-1'],
  ['an integer that no double holds', ['integer'], '9007199254740993', '"9007199254740993"'],
  ['number', ['number'], '1.5', '"1.50"', '"15e-1"', '"+1.5"', '01.5e0'.slice(1)],
  ['number.round', [{ number: { round: 2 } }], '1.005', '1.01', '"1.0149999999999999"', '1.0100000000000000001'],
  ['number.round below zero', [{ number: { round: 0 } }], '-0.5', '-1', '"-1.4"'],
  ['number.round to nothing', [{ number: { round: 2 } }], '0.001', '0', '-0.001', '1e-999999'],
  ['string', ['string'], '12', '"12"', '12.0', '1.2e1'],
  ['string of a long number', ['string'], '9007199254740993', '"9007199254740993"'],
  ['string of a boolean', ['string'], 'true', '"true"'],
  ['url', ['url'], '"HTTP://Example.com:80/%7Ea?b=%e4"', '"http://example.com/~a?b=%E4#top"'],
  ['email', ['email'], '" Ann@Example.COM"', '"ann@example.com"', '"ann@example.com."'],
  ['an international domain', ['email'], '"a@bücher.example"', '"a@xn--bcher-kva.example"'],
  ['sort', ['sort'], '["b","a","b"]', '["a","b","b"]'],
  ['set', ['set'], '["b","a","b"]', '["a","b"]', '["b","a"]'],
  ['pick', [{ pick: ['sku', 'price.amount'] }], '{"sku":1,"price":{"amount":2},"at":3}', '{"price":{"amount":2.0,"x":1},"sku":1}'],
  ['omit', [{ omit: ['trace', 'items[*].at'] }], '{"a":1,"trace":2,"items":[{"b":1,"at":5}]}', '{"a":1,"items":[{"b":1}]}'],
  ['map', [{ map: { 取消: 'CANCEL', cancel: 'CANCEL' } }], '"取消"', '"cancel"', '"CANCEL"'],
  [
    'match',
    [{ match: [{ regex: '^(帮我)?(预)?[订定]|(?i)^book', to: 'BOOK' }] }],
    '"帮我订明天的会议室"',
    '"预定会议室"',
    '"Book a room"',
    '"BOOK"',
  ],
  ['regex', [{ regex: '(\\d+)楼' }], '"3楼小会议室"', '"去3楼"', '"在 3楼 的"'],
  ['steps in order', [{ regex: '(\\d)楼小会议室' }, { map: { 3: 789 } }], '"3楼小会议室"', '"订3楼小会议室"'],
  [
    'window',
    [{ window: 60_000 }],
    '"2024-05-20T04:00:00Z"',
    '"2024-05-20T12:00:29.999+08:00"',
    '1716177600',
    '1716177601000',
    '"1716177600"',
  ],
]

for (const [name, steps, ...values] of same) {
  t.test(`${name}: one value in ${values.length} spellings`, async (t) => {
    const [first, ...others] = values.map((value) => applied(steps, value))
    t.not(first, 'missing')
    for (const [n, other] of others.entries()) t.equal(other, first, values[n + 1] ?? '')
  })
}

const different: [name: string, steps: StepSetting[], ...values: string[]][] = [
  ['trim', ['trim'], '"a b"', '"a  b"'],
  ['lower leaves other types', ['lower'], '1', '"1"', 'true'],
  ['nfc is not nfkc', ['nfc'], '"１"', '"1"'],
  ['integer', ['integer'], '7', '8', '9007199254740993', '9007199254740992'],
  ['number.round', [{ number: { round: 2 } }], '1.004', '1.005', '1e400', '1e401'],
  ['string', ['string'], '1', '10', '0.1', '-1', '1e500', '1e501'],
  ['url', ['url'], '"http://a/x"', '"http://a/X"', '"https://a/x"', '"http://a/x?y"', '"http://a/a%2Fb"', '"http://a/a/b"'],
  ['sort', ['sort'], '["a"]', '["a","a"]', '["a","b"]'],
  ['set', ['set'], '["a"]', '["a","b"]', '[1]', '["1"]'],
  ['pick', [{ pick: ['a', 'b'] }], '{"a":1}', '{"b":1}', '{"a":1,"b":1}', '{"a":[1]}'],
  ['map', [{ map: { a: 'x', '': 'y' } }], '"a"', '"b"', '""', 'null', '{}', '[]', '[""]'],
  ['match', [{ match: [{ regex: '^订', to: 1 }] }], '"订"', '"改订"'],
  ['window', [{ window: 60_000 }], '"2024-05-20T04:00:00Z"', '"2024-05-20T04:00:30Z"', '"2024-05-20T04:01:00Z"'],
]

for (const [name, steps, ...values] of different) {
  t.test(`${name}: ${values.length} values stay apart`, async (t) => {
    t.equal(new Set(values.map((value) => applied(steps, value))).size, values.length)
  })
}

const gone: [steps: StepSetting[], ...values: string[]][] = [
  [['integer'], '1.5', '"x"', 'null', 'true', '""', '"1e"', '"0x10"', '[1]', '"1e-1"'],
  [['number'], '"1,5"', '"."', '"Infinity"', '"NaN"', '{}', `"1e${'9'.repeat(12)}"`],
  [['url'], '"not a url"', '"mailto:a@b"', '5', '"/path"'],
  [['email'], '"a"', '"a@"', '"a b@c"', '"a@b@c"', 'null'],
  [[{ pick: ['a'] }], '{"b":1}', '"a"', '[]'],
  [[{ regex: '(\\d+)楼' }], '"三楼"', 'null', '{}'],
  [[{ absentIf: '^stripe-node-retry-' }], '"stripe-node-retry-123"'],
  [[{ window: 1000 }], '"yesterday"', '"2024-05-20T04:00:00"', 'null'],
]

for (const [steps, ...values] of gone) {
  t.test(`${JSON.stringify(steps)}: what does not fit is missing`, async (t) => {
    for (const value of values) t.equal(applied(steps, value), 'missing', value)
  })
}

t.test('a part whose steps leave nothing is missing, optional, or read from the next source', async (t) => {
  const apply: StepSetting[] = ['integer']
  t.equal(refusal({ fingerprint: { v: { from: 'body.v', apply, optional: false } } }, { body: '{"v":"x"}' }), 'field-missing')
  const optional = { fingerprint: { v: { from: 'body.v', apply, optional: true } } }
  t.equal(fingerprint(optional, { body: '{"v":"x"}' }), fingerprint(optional, { body: '{}' }))
  const next = { fingerprint: { v: { from: ['body.v', 'body.w'], apply, optional: false } } }
  t.equal(fingerprint(next, { body: '{"v":"x","w":"5"}' }), fingerprint(next, { body: '{"v":5}' }))
})

t.test('a key that an SDK makes anew for each try counts as not sent', async (t) => {
  const key = { from: 'header.idempotency-key', apply: [{ absentIf: '^stripe-node-retry-' }], optional: true }
  const rule = { fingerprint: { v: 'body.v', key }, digest: [] }
  const sent = (value: string) => ({ headers: ['Idempotency-Key', value], body: '{"v":1}' })
  t.equal(fingerprint(rule, sent('stripe-node-retry-1')), fingerprint(rule, sent('"stripe-node-retry-2"')))
  t.not(fingerprint(rule, sent('a')), fingerprint(rule, sent('b')))
  t.equal(operation(rule, sent('"a"')).clientKey, 'a')
  t.equal(operation({ ...rule, fingerprint: { key: { ...key, apply: ['lower'] } } }, sent('ABC')).clientKey, 'abc')
})

t.test('omit changes nothing for the other parts', async (t) => {
  const long = (apply: StepSetting[]) => ({ from: 'body', apply, optional: false })
  const rule = { fingerprint: { a: long([{ omit: ['x'] }]), b: 'body.x' } }
  t.not(fingerprint(rule, { body: '{"x":1,"y":2}' }), fingerprint(rule, { body: '{"x":2,"y":2}' }))
})

t.test('what a step would have to search in is limited, and says so', async (t) => {
  const long = JSON.stringify('a'.repeat(8193))
  const steps: StepSetting[] = [{ regex: 'a' }, { match: [{ regex: 'a', to: 1 }] }, { absentIf: 'a' }, 'url', 'email', 'number', 'integer']
  for (const step of steps) t.throws(() => applied([step], long), Refusal, JSON.stringify(step))
  const rule = { fingerprint: { v: { from: 'body.v', apply: [{ regex: 'a' }], optional: false } } }
  t.equal(refusal(rule, { body: `{"v":${long}}` }), 'field-invalid')
})

t.test('hostile texts cost time that grows with their length only', async (t) => {
  const started = performance.now()
  applied([{ regex: '(a+)+$' }], JSON.stringify(`${'a'.repeat(8000)}b`))
  applied(['string'], `1${'0'.repeat(500_000)}1`)
  applied(['collapseSpace'], JSON.stringify(`${' '.repeat(500_000)}a`))
  t.ok(performance.now() - started < 3000, `${performance.now() - started}`)
})

t.test('plugins: a value in, a value out, and no longer than the limit', async (t) => {
  const file = `${mkdtempSync(`${tmpdir()}/plugin-`)}/mine.mjs`
  writeFileSync(file, 'export default (value) => typeof value === "string" ? { room: value.length } : value > 5 ? undefined : value')
  const run = plugin((await loadPlugin(file)).plugin)
  const of = (value: string | number) => run([value], { receivedAt: NOW })
  t.equal(encodeList(of('abc')), encodeList([parseJson('{"room":3}')]))
  t.same(of(5), [5])
  t.same(of(6), [])
  await t.rejects(loadPlugin(new URL('steps.test.js', import.meta.url).pathname.replace('steps.test', 'requests')), /default export/)
  const refused = (call: (value: unknown) => unknown, detail: RegExp) =>
    t.match(
      refusalOf(() => plugin(call, 20)(['x'], { receivedAt: NOW })),
      { name: 'field-invalid', detail },
    )
  refused(() => {
    for (;;);
  }, /longer than 20 ms/)
  refused(() => /^(a+)+$/.test(`${'a'.repeat(40)}b`), /longer than 20 ms/)
  refused(() => {
    throw new Error('a secret of the request')
  }, /^A plugin of the rule failed\.$/)
  refused(() => 10n, /failed/)
  refused(() => Number.NaN, /failed/)
  refused(async () => 1, /failed/)
})

function refusalOf(run: () => unknown): object {
  try {
    return { result: run() }
  } catch (error) {
    if (error instanceof Refusal) return error.problem
    throw error
  }
}
