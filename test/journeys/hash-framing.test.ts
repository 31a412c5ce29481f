// No value, whatever it holds, looks like another one or moves the border between two.
import t from 'tap'
import { fingerprintOf, replayed, stage } from '../helpers/stage.ts'

const TWO_FIELDS = `
  - name: r
    match: { path: /r }
    fingerprint: { subject: body.a, object: body.b }
`

t.test('a border between two fields cannot be moved', async (t) => {
  const { upstream, ask } = await stage(t, { rules: TWO_FIELDS })
  const pairs: [unknown, unknown][] = [
    ['xy', 'z'],
    ['x', 'yz'],
    ['z', 'xy'],
  ]
  for (const moved of ['|', ':', '\n', '\u0000', '"', ',', 's:', 's1:', '2:', '\ud800', ' '])
    pairs.push([`u${moved}1`, 'x'], ['u', `1${moved}x`], [`u${moved}`, '1x'], [['a', `b${moved}c`], 'x'], [[`a${moved}b`, 'c'], 'x'])
  pairs.push([['a', 'b'], 'c'], ['a', ['b', 'c']], [{ ab: 'c' }, 'x'], [{ a: 'bc' }, 'x'])
  for (const [a, b] of pairs) t.notOk(replayed(await ask('/r', { body: { a, b } })), JSON.stringify([a, b]))
  t.equal(upstream.count(), pairs.length)
  for (const [a, b] of pairs) t.ok(replayed(await ask('/r', { body: { a, b } })), JSON.stringify([a, b]))
})

t.test('every JSON value is itself, and absent is none of them', async (t) => {
  const { upstream, ask } = await stage(t, {
    rules: `
  - name: r
    match: { path: /r }
    fingerprint: { v: { from: body.v, optional: true }, w: { from: header.w, optional: true } }
`,
  })
  const bodies = ['null', '{}', '[]', '""', 'false', 'true', '0', '"0"', '"null"', '[null]', '[[]]', '{"":null}', '["a","b"]', '"a,b"']
  const raws = ['{"x":1}', ...bodies.map((value) => `{"v":${value}}`), String.raw`{"v":{"a\":1,\"b":2}}`, '{"v":{"a":1,"b":2}}']
  const seen = new Set<string>()
  for (const raw of raws) seen.add(fingerprintOf(await ask('/r', { raw, headers: { w: 'w' } })))
  t.equal(seen.size, raws.length)
  t.equal(upstream.count(), raws.length)
})

t.test('keys are compared as they are: nothing is cleaned away', async (t) => {
  const { upstream, ask } = await stage(t, {})
  const euro = Buffer.from('€').toString('latin1')
  const keys = ['user:1-2', 'user:12', 'user12', 'a.b', 'ab', 'a b', 'a  b', euro, 'EUR', 'é', 'e', 'a/b', 'a%2Fb', 'a+b']
  for (const key of keys) t.notOk(replayed(await ask('/pay', { key, body: {} })), key)
  t.equal(upstream.count(), keys.length)
  for (const key of keys) t.ok(replayed(await ask('/pay', { key, body: {} })), key)
})
