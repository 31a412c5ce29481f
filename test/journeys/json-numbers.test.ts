// Numbers are compared by their exact value, and no number costs more than its digits.
import t from 'tap'
import { replayed, stage } from '../helpers/stage.ts'

const BY_VALUE = `
  - name: by-value
    match: { path: /by-value }
    fingerprint: { n: body.n }
  - name: by-key
    match: { path: /by-key }
    fingerprint: { key: header.idempotency-key }
`

t.test('what a double cannot tell apart is told apart', async (t) => {
  const { upstream, ask } = await stage(t, { rules: BY_VALUE })
  const integers = ['9007199254740992', '9007199254740993', '18446744073709551615', '18446744073709551614']
  const numbers = [...integers, '0.1', '0.10000000000000001', '1e400', '1e500', '-1e400', '1e-400', '1e-500', '0', 'null', '"1e400"']
  for (const n of numbers) t.notOk(replayed(await ask('/by-value', { raw: `{"n":${n}}` })), n)
  t.equal(upstream.count(), numbers.length)
  t.equal((await ask('/by-key', { key: 'k', raw: '{"id":9007199254740992}' })).status, 200)
  t.equal((await ask('/by-key', { key: 'k', raw: '{"id":9007199254740993}' })).status, 422)
  t.equal((await ask('/by-key', { key: 'k', raw: '{"id":9007199254740992.0}' })).status, 200)
})

t.test('one value in several spellings is one number', async (t) => {
  const { upstream, ask } = await stage(t, { rules: BY_VALUE })
  const groups = [
    ['100', '100.0', '1e2', '1.00E+2', '1000e-1', '1E2'],
    ['0', '-0', '0.0', '0e9', '-0.0e-5'],
    ['0.001', '0.0010', '1e-3'],
    ['9007199254740993', '9007199254740993.0', '9007199254740993e0', '900719925474099.3e1'],
  ]
  for (const [first = '', ...others] of groups) {
    t.notOk(replayed(await ask('/by-value', { raw: `{"n":${first}, "memo":"one"}` })), first)
    for (const n of others) t.ok(replayed(await ask('/by-value', { raw: `{"memo":"other","n":${n}}` })), n)
  }
  t.equal(upstream.count(), groups.length)
})

t.test('what a rule calls one network and one amount is one, in whatever words', async (t) => {
  const { upstream, ask } = await stage(t, {
    rules: `
  - name: pay
    match: { path: /pay }
    fingerprint: { chain: { from: body.chain, apply: [{ map: { base: 8453 } }] }, amount: { from: body.amount, apply: [number] } }
`,
  })
  t.notOk(replayed(await ask('/pay', { body: { chain: 'base', amount: '0.001', memo: 'hi' } })))
  t.ok(replayed(await ask('/pay', { body: { chain: 8453, amount: '0.0010', memo: 'hello' } })))
  t.ok(replayed(await ask('/pay', { raw: '{"chain":8453.0,"amount":1e-3}' })))
  t.notOk(replayed(await ask('/pay', { body: { chain: '8453', amount: '0.001' } })), 'a text is no number unless a step says so')
  t.equal(upstream.count(), 2)
})

t.test('a tiny literal of an enormous number is answered at once', async (t) => {
  const { upstream, ask } = await stage(t, { rules: BY_VALUE })
  const before = process.memoryUsage.rss()
  const numbers = ['1e1000000000', '1e1000000001', '-1e1000000000', '1e-1000000000', '1'.repeat(50_000)]
  // Written out, the first alone would be a gigabyte: there is no answer within the time limit then, or no process.
  for (const n of numbers) t.equal((await ask('/by-value', { raw: `{"n":${n}}`, timeout: 3000 })).status, 200, n.slice(0, 20))
  t.equal(upstream.count(), numbers.length)
  t.ok(process.memoryUsage.rss() - before < 200 * 1024 * 1024)
  t.ok(replayed(await ask('/by-value', { raw: '{"n":10e999999999}' })))
  const beyond = await ask('/by-value', { raw: `{"n":1e${'9'.repeat(400)}}` })
  t.equal(beyond.headers['oncegate-error'], 'body-invalid', 'an exponent that nobody can count with is refused, not merged')
})
