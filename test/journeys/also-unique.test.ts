// `alsoUnique`: one id, two contents.
import t from 'tap'
import { send } from '../helpers/client.ts'
import { testGateway } from '../helpers/gateway.ts'
import { SHARED_STORES } from '../helpers/shared-store.ts'
import { replayed, stage } from '../helpers/stage.ts'
import { json, startUpstream } from '../helpers/upstream.ts'
import { readRepositoryFile } from '../helpers/repository.ts'

const RULES = `
  - name: message
    match: { path: /messages }
    fingerprint: { text: body.text }
    alsoUnique: { id: body.id }
`

for (const [store, open] of Object.entries({ memory: undefined, ...SHARED_STORES })) {
  t.test(`one id, two contents: ${store}`, async (t) => {
    const shared = await open?.()
    if (shared !== undefined) t.teardown(shared.remove)
    const { ask, upstream } = await stage(t, { rules: RULES, ...(shared && { store: shared.url }) })
    const say = (text: string, id?: string, as = 'a') => ask('/messages', { body: { text, id }, as })
    t.equal((await say('book', '1')).status, 200)
    t.ok(replayed(await say('book', '1')))
    t.ok(replayed(await say('book', '2')), 'another id, the same message')
    t.ok(replayed(await say('book')), 'or none')
    for (const id of ['1', '2']) {
      const other = await say('cancel', id)
      t.match(other, { status: 422, headers: { 'oncegate-error': 'key-reused', 'x-should-retry': 'false' } })
      t.match(other.json(), { type: 'urn:oncegate:key-reused', names: ['id'], retry: 'new-key' })
      t.match(other.json().detail, /\bid\b/)
    }
    t.equal(upstream.count(), 1)
    t.equal((await say('cancel', '1', 'another')).status, 200, "another owner's ids are their own")
    t.equal((await say('cancel', '3')).status, 200)
    t.equal((await say('book', '3')).status, 422, 'also for a message that is known')
    t.equal(upstream.count(), 3)
  })
}

t.test('the preset for A2A', async (t) => {
  const upstream = await startUpstream((request, response) => {
    const { id } = JSON.parse(request.body.toString()) as { id: number }
    json(response, 200, { jsonrpc: '2.0', id, result: { kind: 'message', count: upstream.count() } })
  })
  t.teardown(() => upstream.close())
  const preset = readRepositoryFile('config/presets/a2a-message-send.yaml').replace(/^[^]*?^rules:\n/m, '')
  const gateway = await testGateway({ upstream: upstream.url, rules: preset })
  t.teardown(() => gateway.close())
  const say = (id: number, messageId: string, text: string, method = 'message/send') =>
    send(`${gateway.url}/a2a`, {
      headers: { authorization: 'Bearer a' },
      body: { jsonrpc: '2.0', id, method, params: { message: { role: 'user', parts: [{ kind: 'text', text }], messageId } } },
    })
  t.match((await say(1, 'm1', 'book')).json(), { id: 1, result: { count: 1 } })
  t.match((await say(2, 'm2', 'book')).json(), { id: 2, result: { count: 1 } }, 'another id of the message')
  for (const messageId of ['m1', 'm2']) {
    const reused = await say(3, messageId, 'cancel')
    t.equal(reused.status, 422)
    t.match(reused.json(), { id: 3, error: { data: { code: 'key-reused', names: ['messageId'] } } })
  }
  t.match((await say(4, 'm3', 'cancel')).json(), { id: 4, result: { count: 2 } })
  t.equal((await say(5, 'm1', 'book', 'SendMessage')).status, 200, 'by another method it is another request')
})
