// The client's own key: how it may be spelled, and what is refused before anything else happens.
import t, { type Test } from 'tap'
import { type Answer, send } from '../helpers/client.ts'
import { RedisServer } from '../helpers/redis-server.ts'
import { replayed, stage } from '../helpers/stage.ts'
import { TcpProxy } from '../helpers/tcp-proxy.ts'
import { within } from '../helpers/until.ts'

const PAY = `
  - name: pay
    match: { path: /pay }
    fingerprint: { key: header.idempotency-key }
`

function refused(t: Test, answer: Answer, name: string, about = name): void {
  t.equal(answer.status, 400, about)
  t.equal(answer.headers['oncegate-error'], name, about)
  t.match(answer.json().detail, 'header.idempotency-key')
}

t.test('quoted and bare are one key', async (t) => {
  const { upstream, ask } = await stage(t, { rules: PAY })
  await ask('/pay', { key: '"abc"', body: {} })
  t.ok(replayed(await ask('/pay', { key: 'abc', body: {} })))
  t.ok(replayed(await ask('/pay', { key: '  abc\t', body: {} })), 'white space around a header is not part of it')
  t.notOk(replayed(await ask('/pay', { key: String.raw`"a\"bc"`, body: {} })))
  t.notOk(replayed(await ask('/pay', { key: 'ABC', body: {} })), 'case counts')
  for (const key of ['"abc', 'abc"', '"abc"x', '"abc", "def"', '"a\\bc"'])
    refused(t, await ask('/pay', { key, body: {} }), 'key-invalid', key)
  t.equal(upstream.count(), 3)
})

t.test('255 characters are a key, 256 are not', async (t) => {
  const { upstream, ask } = await stage(t, { rules: PAY })
  t.equal((await ask('/pay', { key: 'a'.repeat(255), body: {} })).status, 200)
  refused(t, await ask('/pay', { key: 'a'.repeat(256), body: {} }), 'key-invalid')
  refused(t, await ask('/pay', { key: `"${'a'.repeat(256)}"`, body: {} }), 'key-invalid')
  t.equal(upstream.count(), 1)
})

t.test('empty, blank, missing or sent twice: refused, and never one key for all', async (t) => {
  const { upstream, gateway, ask } = await stage(t, { rules: PAY })
  for (const key of ['', '   ', '""', '"  "']) {
    refused(t, await ask('/pay', { key, body: { n: 1 } }), 'key-invalid', JSON.stringify(key))
    refused(t, await ask('/pay', { key, body: { n: 2 } }), 'key-invalid', JSON.stringify(key))
  }
  refused(t, await ask('/pay', { body: {} }), 'key-missing')
  const twice = ['Authorization', 'Bearer a', 'Idempotency-Key', 'one', 'Idempotency-Key', 'two']
  refused(t, await send(`${gateway.url}/pay`, { headers: twice, body: {} }), 'key-invalid')
  t.equal(upstream.count(), 0)
})

t.test('an optional key that is there must be a key too', async (t) => {
  const { upstream, ask } = await stage(t, {
    rules: `
  - name: pay
    match: { path: /pay }
    fingerprint: { order: body.order, key: { from: header.idempotency-key, optional: true } }
`,
  })
  refused(t, await ask('/pay', { key: '', body: { order: 1 } }), 'key-invalid')
  t.equal((await ask('/pay', { body: { order: 1 } })).status, 200)
  t.ok(replayed(await ask('/pay', { body: { order: 1 } })), 'without it the order is the fact')
  t.notOk(replayed(await ask('/pay', { key: 'k', body: { order: 1 } })))
  t.equal(upstream.count(), 2)
})

t.test('a bad key is refused without a look into the store', async (t) => {
  const redis = await RedisServer.start()
  t.teardown(() => redis.stop())
  const network = await TcpProxy.start(redis.port)
  t.teardown(() => network.stop())
  const { upstream, ask } = await stage(t, { rules: PAY, top: 'storeTimeout: 300ms', store: `redis://127.0.0.1:${network.port}` })
  t.equal((await ask('/pay', { key: 'good', body: {} })).status, 200)
  network.fault = 'hold'
  t.teardown(() => (network.fault = 'none'))
  const before = network.dropped
  refused(t, await within('the refusal', ask('/pay', { key: 'a'.repeat(256), body: {} })), 'key-invalid')
  refused(t, await within('the refusal', ask('/pay', { body: {} })), 'key-missing')
  t.equal(network.dropped, before, 'nothing went to the store')
  t.equal((await ask('/pay', { key: 'good', body: {} })).status, 503, 'a good key does need it')
  t.ok(network.dropped > before)
  t.equal(upstream.count(), 1)
})
