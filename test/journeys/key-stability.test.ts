// The record that is settled is the one that was acquired, whatever the execution came to.
import t from 'tap'
import { fingerprintOf, replayed, stage } from '../helpers/stage.ts'
import { json } from '../helpers/upstream.ts'

t.test('after a failure the same request executes at once, in the same record', async (t) => {
  const { upstream, ask } = await stage(t, {
    rules: `
  - name: pay
    match: { path: /pay/:who }
    fingerprint: { key: header.idempotency-key, who: path.who, first: 'body.items[0].id' }
    digestIgnore: [body.trace_id, 'body.items[0]']
`,
    handler: ({ headers }, response) => json(response, headers['idempotency-attempt'] === '1' ? 503 : 200, {}),
  })
  const pay = (trace: string) => ask('/pay/ann', { key: 'k', body: { items: [{ id: 1 }, { id: 2 }], trace_id: trace } })
  const failed = await pay('a')
  t.equal(failed.status, 503)
  const second = await pay('b')
  t.equal(second.status, 200, 'no 425 from a record left in flight')
  t.equal(fingerprintOf(second), fingerprintOf(failed))
  t.ok(replayed(await pay('c')))
  const status = (await ask(`/status/${fingerprintOf(failed)}`, { method: 'GET' })).json()
  t.match(status, { status: 'completed', attempt: 2, http_status: 200 })
  t.same(
    upstream.received.map(({ headers }) => headers['idempotency-attempt']),
    ['1', '2'],
  )
  t.same(
    new Set(upstream.received.map(({ headers }) => headers['idempotency-fingerprint'])),
    new Set([fingerprintOf(failed)]),
    'the upstream was told the name under which it is kept',
  )
})

t.test("what a client sends as the gateway's own headers changes no record and reaches no upstream", async (t) => {
  const { upstream, ask } = await stage(t, {})
  const own = { 'idempotency-fingerprint': 'forged', 'idempotency-attempt': '9', 'idempotency-execution': 'forged' }
  await ask('/pay', { key: 'k', body: {}, headers: own })
  t.ok(replayed(await ask('/pay', { key: 'k', body: {} })))
  t.equal(upstream.count(), 1)
  t.equal(upstream.received[0]!.headers['idempotency-attempt'], '1')
  t.notMatch(JSON.stringify(upstream.received[0]!.rawHeaders), /forged/)
})
