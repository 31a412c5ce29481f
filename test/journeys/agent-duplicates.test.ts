// Agents and their SDKs ask again in ways that no key catches: what they wish says that it is the same.
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { send, type Answer } from '../helpers/client.ts'
import { fingerprintOf, replayed, stage } from '../helpers/stage.ts'
import { testGateway } from '../helpers/gateway.ts'
import { until, within } from '../helpers/until.ts'
import { json, latch, startUpstream } from '../helpers/upstream.ts'

// Compiled, this file stands in build/test/journeys.
const presets = fileURLToPath(new URL('../../../config/presets/', import.meta.url))

t.test('a client without a key that gives up and asks again: one execution, and the last one gets its answer', async (t) => {
  const door = latch()
  const upstream = await startUpstream(async (_request, response) => {
    await door.opened
    json(response, 200, { type: 'message', content: [{ type: 'text', text: 'done' }] })
  })
  t.teardown(() => upstream.close())
  const gateway = await testGateway({ upstream: upstream.url, top: `include: ["${presets}anthropic-messages.yaml"]` })
  t.teardown(() => gateway.close())
  const ask = (tries: number, signal?: AbortSignal): Promise<Answer> =>
    send(`${gateway.url}/v1/messages`, {
      headers: { 'x-api-key': 'k', 'anthropic-version': '2023-06-01', 'x-stainless-retry-count': String(tries) },
      body: { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] },
      ...(signal && { signal }),
    })
  const gaveUp = new AbortController()
  const first = ask(0, gaveUp.signal)
  await within('the execution', upstream.arrived(1))
  gaveUp.abort()
  await t.rejects(first)
  const second = new AbortController()
  const again = ask(1, second.signal)
  const fingerprint = String(upstream.received[0]?.headers['idempotency-fingerprint'])
  await until('the second try is held', async () => {
    const status = await send(`${gateway.url}/status/${fingerprint}`, { method: 'GET' })
    return status.json().duplicates === 1
  })
  second.abort()
  await t.rejects(again)
  const last = ask(2)
  door.open()
  t.match((await within('the answer', last)).json(), { content: [{ text: 'done' }] })
  t.ok(replayed(await ask(2)))
  t.equal(upstream.count(), 1)
})

const TOOLS = `
  - name: tool
    match: { path: /tools/call }
    owner: none
    lease: 1s
    fingerprint: { thread: body.thread, tool: body.tool, args: body.args }
`

t.test('a call that is dispatched again from a checkpoint, while the first outlives its lease', async (t) => {
  const door = latch()
  const { upstream, ask } = await stage(t, {
    rules: TOOLS,
    handler: async (_request, response) => {
      await door.opened
      json(response, 200, { sent: true })
    },
  })
  const call = (id: number) => ask('/tools/call', { body: { id, thread: 't', tool: 'mail', args: { to: 'a' } } })
  const first = call(1)
  await within('the execution', upstream.arrived(1))
  t.equal((await call(2)).status, 425)
  // The lease is renewed while the call runs: a lapsed one would make this 409, and a lost one a second execution.
  await new Promise((resolve) => setTimeout(resolve, 1500))
  t.equal((await call(3)).status, 425)
  door.open()
  t.same((await first).json(), { sent: true })
  const replay = await call(4)
  t.ok(replayed(replay))
  t.same(replay.json(), { sent: true })
  t.equal(upstream.count(), 1)
})

t.test('a key that is new with each try: left out, preferred, or the only identity, as the rule says', async (t) => {
  const rule = (path: string, fingerprint: string) => `
  - { name: ${path}, match: { path: /${path} }, fingerprint: ${fingerprint} }`
  const { upstream, ask } = await stage(t, {
    rules: [
      rule('ignored', '{ wish: body }'),
      rule('sdk', "{ wish: body, key: { from: header.idempotency-key, apply: [{ absentIf: '^sdk-' }], optional: true } }"),
      rule('strict', '{ key: header.idempotency-key }'),
    ].join(''),
  })
  const body = { do: 'it' }
  await ask('/ignored', { key: 'uuid-1', body })
  t.ok(replayed(await ask('/ignored', { key: 'uuid-2', body })))
  await ask('/sdk', { key: 'sdk-1', body })
  t.ok(replayed(await ask('/sdk', { key: 'sdk-2', body })))
  t.notOk(replayed(await ask('/sdk', { key: 'mine', body })), 'a key of the application is another wish')
  await ask('/strict', { key: 'uuid-1', body })
  t.notOk(replayed(await ask('/strict', { key: 'uuid-2', body })))
  t.equal(upstream.count(), 5)
})

t.test('two calls of one tool with other arguments, at once, are two', async (t) => {
  const door = latch()
  const { upstream, ask } = await stage(t, {
    rules: TOOLS,
    handler: async ({ body }, response) => {
      await door.opened
      json(response, 200, JSON.parse(body.toString()))
    },
  })
  const calls = ['a', 'b'].map((to) => ask('/tools/call', { body: { thread: 't', tool: 'mail', args: { to } } }))
  await within('both executions', upstream.arrived(2))
  door.open()
  const answers = await Promise.all(calls)
  t.same(
    answers.map((answer) => [answer.status, answer.json().args.to]),
    [
      [200, 'a'],
      [200, 'b'],
    ],
  )
  t.equal(new Set(answers.map(fingerprintOf)).size, 2)
})

t.test('the same wish streamed and not: never events to a client that waits for JSON', async (t) => {
  const { upstream, ask } = await stage(t, {
    rules: `
  - { name: compared, match: { path: /compared }, fingerprint: { p: body.p }, digest: [body.stream] }
  - { name: apart, match: { path: /apart }, fingerprint: { p: body.p, stream: { from: body.stream, default: false } } }
`,
    handler: ({ body }, response) => {
      if (JSON.parse(body.toString()).stream !== true) return json(response, 200, { text: 'hi' })
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).end('data: hi\n\ndata: [DONE]\n\n')
    },
  })
  await ask('/compared', { body: { p: 1, stream: true } })
  const refused = await ask('/compared', { body: { p: 1, stream: false } })
  t.equal(refused.status, 422)
  t.same(refused.json().differs, ['/stream'])
  t.equal(upstream.count(), 1)
  await ask('/apart', { body: { p: 1, stream: true } })
  const whole = await ask('/apart', { body: { p: 1 } })
  t.same(whole.json(), { text: 'hi' })
  t.ok(replayed(await ask('/apart', { body: { p: 1, stream: false } })))
  t.match((await ask('/apart', { body: { p: 1, stream: true } })).text, /^data: hi/)
  t.equal(upstream.count(), 3)
})
