// A rule chosen by the body: guarded where it says so, untouched where not, and its limits are its own.
import t from 'tap'
import { send } from '../helpers/client.ts'
import { testGateway } from '../helpers/gateway.ts'
import { json, startUpstream } from '../helpers/upstream.ts'

const RULES = `
  - name: call
    match: { path: /rpc, where: { body.method: tools/call } }
    owner: none
    fingerprint: { params: body.params }
    maxBody: 100B
  - name: quiet
    match: { path: /rpc, where: { body.method: [ping, pong] } }
    mode: off
`

t.test('the body picks the rule', async (t) => {
  const upstream = await startUpstream((_request, response) => {
    json(response, 200, { n: upstream.count() })
  })
  const gateway = await testGateway({ upstream: upstream.url, rules: RULES })
  t.teardown(async () => {
    await gateway.close()
    await upstream.close()
  })
  const rpc = (body: object) => send(`${gateway.url}/rpc`, { body })

  const call = await rpc({ method: 'tools/call', params: { a: 1 }, id: 1 })
  t.ok(call.headers['idempotency-fingerprint'])
  const again = await rpc({ id: 2, params: { a: 1 }, method: 'tools/call' })
  t.equal(again.headers['idempotency-replayed'], 'true')
  t.same(again.body, call.body)

  for (const method of ['ping', 'other']) {
    const answers = [await rpc({ method }), await rpc({ method })]
    t.notSame(answers[0]?.body, answers[1]?.body, method)
    t.notOk(answers[0]?.headers['idempotency-fingerprint'], method)
  }
  t.equal((await rpc({ method: 'tools/call', params: 'x'.repeat(200) })).status, 413, 'over the limit of its rule')
  t.equal((await rpc({ method: 'other', params: 'x'.repeat(200) })).status, 200)
  t.equal((await send(`${gateway.url}/rpc`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{' })).status, 400)
})
