// However an exchange ends, and whoever has left: the record ends too, and says what is known.
import t, { type Test } from 'tap'
import { type Answer, send, type SendOptions } from '../helpers/client.ts'
import { testGateway } from '../helpers/gateway.ts'
import { SHARED_STORES } from '../helpers/shared-store.ts'
import { until, within } from '../helpers/until.ts'
import { json, latch, startUpstream, type TestUpstream } from '../helpers/upstream.ts'

const RULES = ['continue', 'abort', 'abort-retry']
  .map(
    (name) => `
  - name: ${name}
    match: { path: /${name} }
    fingerprint: { key: header.idempotency-key }
    onDisconnect: ${name.split('-')[0]}
    onUnknown: ${name.endsWith('retry') ? 'retry' : 'refuse'}
`,
  )
  .join('')

for (const [store, open] of Object.entries(SHARED_STORES)) {
  t.test(`on ${store}`, async (t) => {
    const shared = await open()
    t.teardown(shared.remove)
    const upstream = await startUpstream()
    t.teardown(upstream.close)
    const gateway = await testGateway({ upstream: upstream.url, rules: RULES, store: shared.url })
    t.teardown(() => gateway.close())
    const ask: Ask = (path, key, options) =>
      send(`${gateway.url}${path}`, { headers: { authorization: 'Bearer a', 'idempotency-key': key }, body: {}, ...options })
    await ends(t, upstream, ask)
    await leaves(t, upstream, ask)
  })
}

type Ask = (path: string, key: string, options?: Pick<SendOptions, 'signal' | 'onData'>) => Promise<Answer>

async function ends(t: Test, upstream: TestUpstream, ask: Ask): Promise<void> {
  await t.test('every end of an answer settles the record', async (t) => {
    upstream.handle((request, response) => {
      switch (request.headers['idempotency-key']) {
        case 'json':
          return json(response, 200, { done: true })
        case 'chunked':
          response.write('one')
          return void response.end('two')
        case 'empty':
          return void response.writeHead(204).end()
        case 'reset':
          response.writeHead(200, { 'Content-Length': 10 }).write('12345')
          return void setImmediate(() => response.socket?.resetAndDestroy())
        case 'silent':
          return void response.socket?.resetAndDestroy()
      }
    })
    for (const key of ['json', 'chunked', 'empty']) {
      const first = await ask('/continue', key)
      const again = await ask('/continue', key)
      t.match(again, { status: first.status, text: first.text, headers: { 'idempotency-replayed': 'true' } }, key)
    }
    for (const key of ['reset', 'silent']) {
      const first = await ask('/continue', key)
      t.ok(first.status === 502 || !first.whole, `${key}: the client cannot take it for whole`)
      t.match(await ask('/continue', key), { status: 409, headers: { 'oncegate-error': 'outcome-unknown' } }, key)
    }
    t.equal(upstream.count('/continue'), 5)
  })
}

async function leaves(t: Test, upstream: TestUpstream, ask: Ask): Promise<void> {
  await t.test('the client leaves and the execution runs on: its result is stored', async (t) => {
    const door = latch()
    let closed = false
    upstream.handle(async (_request, response) => {
      response.on('close', () => (closed = !response.writableEnded))
      await door.opened
      json(response, 201, { done: 1 })
    })
    const before = upstream.count()
    const leaving = new AbortController()
    const gone = t.rejects(ask('/continue', 'left', { signal: leaving.signal }))
    await within('the execution', upstream.arrived(before + 1))
    leaving.abort()
    await gone
    t.equal((await ask('/continue', 'left')).status, 425)
    door.open()
    let answer!: Answer
    await until('the result', async () => (answer = await ask('/continue', 'left')).status !== 425)
    t.match(answer, { status: 201, text: '{"done":1}', headers: { 'idempotency-replayed': 'true' } })
    t.equal(upstream.count() - before, 1)
    t.notOk(closed, 'the upstream noticed nothing')
  })

  await t.test('the client leaves in the middle of a long answer: all of it is stored', async (t) => {
    const half = 'x'.repeat(100_000)
    const door = latch()
    upstream.handle(async (_request, response) => {
      response.write(half)
      await door.opened
      response.end(half)
    })
    const leaving = new AbortController()
    await t.rejects(ask('/continue', 'middle', { signal: leaving.signal, onData: () => leaving.abort() }))
    door.open()
    let answer!: Answer
    await until('the result', async () => (answer = await ask('/continue', 'middle')).status !== 425)
    t.equal(answer.status, 200)
    t.equal(answer.body.length, 200_000)
  })

  for (const path of ['/abort', '/abort-retry']) {
    await t.test(`the client leaves and the execution is cancelled: ${path}`, async (t) => {
      const closed = latch()
      upstream.handle((request, response) => {
        if (request.headers['idempotency-attempt'] === '2') return json(response, 200, { attempt: 2 })
        response.on('close', closed.open)
      })
      const before = upstream.count()
      const leaving = new AbortController()
      const gone = t.rejects(ask(path, 'left', { signal: leaving.signal }))
      await within('the execution', upstream.arrived(before + 1))
      leaving.abort()
      await gone
      await within('the upstream sees the connection close', closed.opened)
      let answer!: Answer
      await until('it is no longer in flight', async () => (answer = await ask(path, 'left')).status !== 425)
      if (path === '/abort') t.match(answer, { status: 409, headers: { 'oncegate-error': 'outcome-unknown' } })
      else t.match(answer, { status: 200, text: '{"attempt":2}' })
      t.equal(upstream.count() - before, path === '/abort' ? 1 : 2)
    })
  }
}
