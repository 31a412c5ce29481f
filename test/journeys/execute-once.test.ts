import t from 'tap'
import { send } from '../helpers/client.ts'
import { testGateway } from '../helpers/gateway.ts'
import { json, latch, startUpstream } from '../helpers/upstream.ts'

const RULES = `
  - name: pay
    match: { path: /pay }
    fingerprint: { key: header.idempotency-key }
`

t.test('the first request executes, a duplicate in flight is refused with 425, a later one is replayed', async (t) => {
  const door = latch()
  const upstream = await startUpstream(async (_request, response) => {
    await door.opened
    json(response, 201, { paid: true })
  })
  const gateway = await testGateway({ upstream: upstream.url, rules: RULES })
  t.teardown(async () => {
    await gateway.close()
    await upstream.close()
  })
  const pay = (amount: number) =>
    send(`${gateway.url}/pay`, { headers: { authorization: 'Bearer a', 'idempotency-key': 'k1' }, body: { amount } })

  const first = pay(1)
  await upstream.arrived(1)
  const early = await pay(1)
  t.equal(early.status, 425)
  t.match(early.headers, {
    'retry-after': /^[1-9]\d*$/,
    'oncegate-error': 'in-flight',
    'x-should-retry': 'true',
    'content-type': 'application/problem+json',
  })
  t.equal(early.json().type, 'urn:oncegate:in-flight')

  const other = await pay(2)
  t.equal(other.status, 422, 'another content is refused at once, also in flight')
  t.same(other.json().differs, ['/amount'])

  door.open()
  const answer = await first
  t.equal(answer.status, 201)
  t.notOk(answer.headers['idempotency-replayed'])

  const replay = await pay(1)
  t.equal(replay.status, 201)
  t.equal(replay.headers['idempotency-replayed'], 'true')
  t.match(replay.headers.age, /^\d+$/)
  t.same(replay.body, answer.body)
  t.equal(replay.headers['idempotency-fingerprint'], answer.headers['idempotency-fingerprint'])

  const status = await send(`${gateway.url}/status/${String(answer.headers['idempotency-fingerprint'])}`, { method: 'GET' })
  t.match(status.json(), { status: 'completed', attempt: 1, http_status: 201, rule: 'pay', duplicates: Number })
  t.equal(upstream.count(), 1)
})
