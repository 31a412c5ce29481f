// The same key with another content is refused at once, wherever the record is met, and leaves no trace.
import t, { type Test } from 'tap'
import { RedisServer } from '../helpers/redis-server.ts'
import { replayed, stage } from '../helpers/stage.ts'
import { within } from '../helpers/until.ts'
import { json, latch, startUpstream } from '../helpers/upstream.ts'
import type { Answer } from '../helpers/client.ts'

function refused(t: Test, answer: Answer, differs: string[]): void {
  t.equal(answer.status, 422)
  t.match(answer.headers, { 'oncegate-error': 'key-reused', 'x-should-retry': 'false', 'stripe-should-retry': 'false' })
  t.equal(answer.headers['retry-after'], undefined, 'waiting would not help')
  t.match(answer.json(), { type: 'urn:oncegate:key-reused', status: 422, retry: 'new-key', differs })
}

const PAY = `
  - name: pay
    match: { path: /pay }
    fingerprint: { key: header.idempotency-key }
`

t.test('a completed record: 422 as often as asked, and the genuine retry still gets its answer', async (t) => {
  const { upstream, ask } = await stage(t, { rules: PAY })
  const first = await ask('/pay', { key: 'k', body: { amount: 1, to: { name: 'A' } } })
  refused(t, await ask('/pay', { key: 'k', body: { amount: 2, to: { name: 'A' } } }), ['/amount'])
  const genuine = await ask('/pay', { key: 'k', body: { amount: 1, to: { name: 'A' } } })
  t.ok(replayed(genuine))
  t.same(genuine.body, first.body)
  refused(t, await ask('/pay', { key: 'k', body: { amount: 1, to: { name: 'B' } } }), ['/to/name'])
  refused(t, await ask('/pay', { key: 'k', body: { amount: 2, to: { name: 'A' } } }), ['/amount'])
  t.equal(upstream.count(), 1)
})

t.test('the refusal names fields and never a value', async (t) => {
  const { ask } = await stage(t, { rules: PAY })
  await ask('/pay?account=first-account', { key: 'secret-key', body: { note: 'first-note', card: 'first-card' } })
  const { text, rawHeaders } = await ask('/pay?account=second-account', { key: 'secret-key', body: { note: 'second-note' } })
  t.same(JSON.parse(text).differs, ['/card', '/note', 'query.account'])
  for (const value of ['first-', 'second-', 'secret-key', 'execution']) {
    t.notOk(text.includes(value), value)
    t.notOk(rawHeaders.join().includes(value), value)
  }
})

for (const answer of ['refuse', 'wait']) {
  t.test(`in flight, with inFlight.answer ${answer}: 422 at once, and not "too early"`, async (t) => {
    const door = latch()
    const { upstream, ask } = await stage(t, {
      rules: `${PAY}    inFlight: { answer: ${answer} }\n`,
      handler: async (_request, response) => {
        await door.opened
        json(response, 200, { paid: true })
      },
    })
    const first = ask('/pay', { key: 'k', body: { amount: 1 } })
    await within('the first request', upstream.arrived(1))
    // The door is still shut: an answer now is one that nobody waited for.
    refused(t, await within('the refusal', ask('/pay', { key: 'k', body: { amount: 2 }, headers: { prefer: 'wait=20' } })), ['/amount'])
    door.open()
    t.same((await first).json(), { paid: true })
    t.equal(upstream.count(), 1)
  })
}

t.test('a failed and an unknown record know their content too', async (t) => {
  const { upstream, ask } = await stage(t, {
    rules: `${PAY}    onUnknown: retry\n`,
    handler: ({ headers }, response) => json(response, headers['idempotency-key'] === 'failed' ? 503 : 504, {}),
  })
  for (const key of ['failed', 'unknown']) {
    t.not((await ask('/pay', { key, body: { amount: 1 } })).status, 200)
    refused(t, await ask('/pay', { key, body: { amount: 2 } }), ['/amount'])
  }
  t.equal(upstream.count(), 2)
})

t.test('another gateway on the same store says the same', async (t) => {
  const redis = await RedisServer.start()
  t.teardown(() => redis.stop())
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const one = await stage(t, { rules: PAY, store: redis.url, upstream })
  const other = await stage(t, { rules: PAY, store: redis.url, upstream })
  const first = await one.ask('/pay', { key: 'k', body: { amount: 1 } })
  refused(t, await other.ask('/pay', { key: 'k', body: { amount: 2 } }), ['/amount'])
  const replay = await other.ask('/pay', { key: 'k', body: { amount: 1 } })
  t.ok(replayed(replay))
  t.same(replay.body, first.body)
  t.equal(upstream.count(), 1)
})

t.test('fields outside the digest may differ', async (t) => {
  const { upstream, ask } = await stage(t, { rules: `${PAY}    digestIgnore: [body.trace_id, query.utm]\n` })
  await ask('/pay?utm=1', { key: 'k', raw: '{"amount": 1, "trace_id":"a"}' })
  t.ok(replayed(await ask('/pay?utm=2', { key: 'k', body: { trace_id: 'b', amount: 1 } })))
  t.ok(replayed(await ask('/pay', { key: 'k', body: { amount: 1 } })))
  refused(t, await ask('/pay', { key: 'k', body: { amount: 2, trace_id: 'a' } }), ['/amount'])
  t.equal(upstream.received[0]!.body.toString(), '{"amount": 1, "trace_id":"a"}', 'the upstream gets the bytes as they came')
  t.equal(upstream.count(), 1)
})
