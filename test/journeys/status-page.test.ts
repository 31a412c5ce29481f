// GET /status/<fingerprint>: how a request stands, to whoever holds its fingerprint; its result, to the owner only.
import { createHash } from 'node:crypto'
import t from 'tap'
import type { Answer } from '../helpers/client.ts'
import { RedisServer } from '../helpers/redis-server.ts'
import { fingerprintOf, replayed, stage } from '../helpers/stage.ts'
import { TcpProxy } from '../helpers/tcp-proxy.ts'
import { until, within } from '../helpers/until.ts'
import { json, latch } from '../helpers/upstream.ts'

const TASK = `
  - name: task
    match: { path: /tasks/:id }
    fingerprint: { id: path.id }
    inFlight: { maxWait: 10s }
`
const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/

/** What a stranger could tell two answers apart by. */
function looks({ status, rawHeaders, text }: Answer): unknown {
  return { status, headers: rawHeaders.filter((_, i) => rawHeaders[i - (i % 2)]!.toLowerCase() !== 'date'), text }
}

t.test('from processing to completed', async (t) => {
  const door = latch()
  const { upstream, ask } = await stage(t, {
    rules: TASK,
    handler: async (_request, response) => {
      await door.opened
      json(response, 201, { done: true })
    },
  })
  const first = ask('/tasks/7', { body: {} })
  await within('the first', upstream.arrived(1))
  const fingerprint = fingerprintOf(await ask('/tasks/7', { body: {} }))
  t.match(fingerprint, /^[A-Za-z0-9_-]{20,64}$/)

  const running = await ask(`/status/${fingerprint}`, { method: 'GET' })
  t.equal(running.status, 200)
  t.match(running.headers, { 'content-type': /^application\/json/, 'cache-control': 'no-store' })
  const { execution, created_at: createdAt, ...state } = running.json()
  t.match(state, { fingerprint, rule: 'task', status: 'processing', attempt: 1, duplicates: 1, retry_after: Number })
  t.match(execution, /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-/)
  t.match(createdAt, RFC3339)
  for (const absent of ['http_status', 'result_hash', 'result_url']) t.notHas(state, absent)
  const early = await ask(`/status/${fingerprint}/result`, { method: 'GET' })
  t.equal(early.status, 425)
  t.match(early.headers, { 'oncegate-error': 'in-flight', 'retry-after': /^[1-9]\d*$/ })

  // Held while it runs: the page cannot have answered yet, and does as soon as the execution is settled.
  let answered = false
  const held = ask(`/status/${fingerprint}?wait=30`, { method: 'GET' }).then((answer) => ((answered = true), answer))
  const brief = await within('a short wait', ask(`/status/${fingerprint}?wait=1`, { method: 'GET' }))
  t.match(brief.json(), { status: 'processing' }, 'the end of the wait')
  t.notOk(answered)
  door.open()
  const settled = (await within('the held page', held)).json()
  const { body } = await first
  t.match(settled, {
    status: 'completed',
    attempt: 1,
    execution,
    http_status: 201,
    result_hash: `sha256:${createHash('sha256').update(body).digest('hex')}`,
    result_url: `/status/${fingerprint}/result`,
    last_updated_at: RFC3339,
    expires_at: RFC3339,
  })
  t.equal(Date.parse(settled.expires_at) - Date.parse(settled.created_at), 24 * 3600 * 1000)
  t.notHas(settled, 'retry_after')
  t.equal(upstream.count(), 1)

  const result = await ask(settled.result_url, { method: 'GET' })
  t.equal(result.status, 201)
  t.same(result.body, body)
  t.ok(replayed(result))
  t.equal(fingerprintOf(result), fingerprint)
  t.equal(upstream.count(), 1)
})

t.test('?wait is capped by maxWait, and nonsense does not wait', async (t) => {
  const door = latch()
  const { upstream, ask } = await stage(t, {
    rules: TASK.replace('10s', '200ms'),
    handler: async (_request, response) => {
      await door.opened
      json(response, 200, {})
    },
  })
  const first = ask('/tasks/7', { body: {} })
  await within('the first', upstream.arrived(1))
  const fingerprint = fingerprintOf(await ask('/tasks/7', { body: {} }))
  for (const wait of ['3600', '1e9', '-1', 'soon', '', '0', 'Infinity', 'NaN'])
    t.match((await within(`?wait=${wait}`, ask(`/status/${fingerprint}?wait=${wait}`, { method: 'GET' }), 3000)).json(), {
      status: 'processing',
    })
  door.open()
  await first
})

t.test('the result is for its owner; to anyone else the fingerprint never existed', async (t) => {
  const { upstream, ask } = await stage(t, {
    rules: `${TASK}
  - name: pay
    match: { path: /pay }
    fingerprint: { key: header.idempotency-key }
  - name: open
    match: { path: /open }
    owner: none
    fingerprint: { id: body.id }
`,
  })
  const get = (path: string, as: string | null, key?: string) => ask(path, { method: 'GET', as, ...(key === undefined ? {} : { key }) })
  const fingerprint = fingerprintOf(await ask('/tasks/7', { as: 'ann', body: {} }))
  const forged = `${fingerprint.slice(0, -1)}${fingerprint.endsWith('A') ? 'B' : 'A'}`
  const never = looks(await get(`/status/${forged}/result`, 'ann'))
  t.match(never, { status: 404, text: /urn:oncegate:unknown-fingerprint/ })
  t.same(looks(await get(`/status/${fingerprint}/result`, 'bob')), never)
  t.same(looks(await get(`/status/${fingerprint}/result`, null)), never)
  t.equal((await get(`/status/${fingerprint}/result`, 'ann')).status, 200)
  t.match((await get(`/status/${fingerprint}`, 'bob')).json(), { status: 'completed' }, 'the state is for whoever holds the fingerprint')

  const anonymous = fingerprintOf(await ask('/pay', { as: null, key: 'mine', body: {} }))
  t.equal((await get(`/status/${anonymous}/result`, null, 'mine')).status, 200, "an anonymous caller's key is its capability")
  t.equal((await get(`/status/${anonymous}/result`, null, '"mine"')).status, 200)
  t.same(looks(await get(`/status/${anonymous}/result`, null, 'other')), never)
  t.same(looks(await get(`/status/${anonymous}/result`, null)), never)
  t.same(looks(await get(`/status/${anonymous}/result`, 'ann', 'mine')), never)

  const everybody = fingerprintOf(await ask('/open', { as: 'ann', body: { id: 1 } }))
  t.equal((await get(`/status/${everybody}/result`, null)).status, 200)
  t.equal(upstream.count(), 3)
})

t.test('a running execution of another owner looks as if it had never existed, too', async (t) => {
  const door = latch()
  const { upstream, ask } = await stage(t, {
    rules: TASK,
    handler: async (_request, response) => {
      await door.opened
      json(response, 200, {})
    },
  })
  const first = ask('/tasks/7', { as: 'ann', body: {} })
  await within('the first', upstream.arrived(1))
  const fingerprint = fingerprintOf(await ask('/tasks/7', { as: 'ann', body: {} }))
  t.equal((await ask(`/status/${fingerprint}/result`, { method: 'GET', as: 'bob' })).status, 404)
  t.equal((await ask(`/status/${fingerprint}/result`, { method: 'GET', as: 'ann' })).status, 425)
  door.open()
  await first
})

t.test('what was never issued here is refused without the store', async (t) => {
  const redis = await RedisServer.start()
  t.teardown(() => redis.stop())
  const network = await TcpProxy.start(redis.port)
  t.teardown(() => network.stop())
  const { ask } = await stage(t, { rules: TASK, top: 'storeTimeout: 300ms', store: `redis://127.0.0.1:${network.port}` })
  const fingerprint = fingerprintOf(await ask('/tasks/7', { body: {} }))
  const elsewhere = await stage(t, { rules: TASK, top: 'secret: another-deployment-with-a-secret-of-its-own' })
  const foreign = fingerprintOf(await elsewhere.ask('/tasks/7', { body: {} }))
  network.fault = 'hold'
  t.teardown(() => (network.fault = 'none'))
  const before = network.dropped
  const forgeries = [
    foreign,
    'A'.repeat(44),
    'A'.repeat(20),
    'A'.repeat(64),
    fingerprint.slice(0, -1),
    `${fingerprint}A`,
    fingerprint.toLowerCase() === fingerprint ? fingerprint.toUpperCase() : fingerprint.toLowerCase(),
    'x',
    `${fingerprint}%00`,
    `${fingerprint}/other`,
  ]
  for (const forged of forgeries) {
    for (const page of ['', '/result', '?wait=30']) {
      const answer = await within('a forgery', ask(`/status/${forged}${page}`, { method: 'GET' }))
      t.equal(answer.status, 404, forged + page)
      t.equal(answer.headers['oncegate-error'], 'unknown-fingerprint')
    }
  }
  t.equal(network.dropped, before, 'nothing went to the store')
  const genuine = await within('a genuine one', ask(`/status/${fingerprint}`, { method: 'GET' }))
  t.equal(genuine.status, 503)
  t.match(genuine.headers, { 'oncegate-error': 'store-unavailable', 'retry-after': /^[1-9]\d*$/ })
  t.ok(network.dropped > before)
})

t.test('an expired record is one that never existed', async (t) => {
  const { ask } = await stage(t, { rules: `${TASK}    ttl: 150ms\n    lease: 100ms\n` })
  const fingerprint = fingerprintOf(await ask('/tasks/7', { body: {} }))
  let last: Answer | undefined
  await until('the record expires', async () => (last = await ask(`/status/${fingerprint}`, { method: 'GET' })).status === 404)
  const forged = `${fingerprint.slice(0, -1)}${fingerprint.endsWith('A') ? 'B' : 'A'}`
  t.same(looks(last!), looks(await ask(`/status/${forged}`, { method: 'GET' })))
})

t.test('only GET, HEAD and DELETE, and nothing below the prefix reaches the upstream', async (t) => {
  const { upstream, ask } = await stage(t, { rules: TASK, top: 'statusPath: /once/state' })
  const fingerprint = fingerprintOf(await ask('/tasks/7', { body: {} }))
  for (const method of ['POST', 'PUT', 'PATCH']) {
    const answer = await ask(`/once/state/${fingerprint}`, { method })
    t.equal(answer.status, 405, method)
    t.match(answer.headers.allow, /GET/)
  }
  t.equal((await ask(`/once/state/${fingerprint}`, { method: 'GET' })).json().result_url, `/once/state/${fingerprint}/result`)
  const head = await ask(`/once/state/${fingerprint}`, { method: 'HEAD' })
  t.equal(head.status, 200)
  t.equal(head.body.length, 0)
  t.equal((await ask('/once/state/x/y/z', { method: 'GET' })).status, 404)
  t.equal(upstream.count(), 1)
  t.equal((await ask('/status/of-the-upstream', { method: 'GET' })).status, 200, 'the default prefix is free then')
  t.equal(upstream.count(), 2)
})
