// JSON-RPC behind the gateway: every caller gets an answer that is addressed to it, and the tool has run once.
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { type Answer, lines, send } from '../helpers/client.ts'
import { fingerprintOf, replayed, stage } from '../helpers/stage.ts'
import { until } from '../helpers/until.ts'
import { type Handler, latch } from '../helpers/upstream.ts'

const RULE = `
  - name: tools
    match: { path: /mcp, where: { body.method: tools/call } }
    fingerprint: { tool: body.params.name, arguments: { from: body.params.arguments, optional: true } }
    protocol: jsonrpc
    errors: jsonrpc`

/** As text: ids are spelled as each caller spells them. */
function call(id: string, { token, room = 1 }: { token?: string; room?: number } = {}): string {
  const meta = token === undefined ? '' : `"_meta":{"progressToken":${token}},`
  return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{${meta}"name":"book","arguments":{"room":${room}}}}`
}

/** A result that says `id` in many places, and numbers that no reader keeps. */
const result = (id: string): string =>
  `{ "result": {"id":1,"content":[{"type":"text","text":"{\\"id\\":1}"}],"n":1.0,"big":12345678901234567890}, "jsonrpc":"2.0", "id": ${id} }`

const stream = (id: string, token: string): string =>
  [
    `id: 1\r\nevent: message\r\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":0.50}}\r\n\r\n`,
    ': still here\r\n\r\n',
    'data: {"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"_meta":{"progressToken":1}}}\r\n\r\n',
    `data: ${result(id)}\r\n\r\n`,
  ].join('')

/** The first call is answered with the names that it sent. */
function answering(type: string, body: string, more: Record<string, string> = {}): Handler {
  const bytes = more['content-encoding'] === undefined ? Buffer.from(body) : gzipSync(body)
  return (_request, response) => void response.writeHead(200, { 'content-type': type, 'content-length': bytes.length, ...more }).end(bytes)
}

const ids = ['2', '"two"', 'null', '98765432109876543210', '1.0']

t.test('a replay carries the id of who asks, and no other byte is changed', async (t) => {
  const { upstream, ask } = await stage(t, { rules: RULE, handler: answering('application/json', result('1'), { etag: '"x"' }) })
  const first = await ask('/mcp', { raw: call('1') })
  t.equal(first.text, result('1'))
  t.equal((await ask('/mcp', { raw: call('1') })).headers.etag, '"x"', 'the same caller gets the same bytes')
  for (const id of ids) {
    const answer = await ask('/mcp', { raw: call(id) })
    t.equal(answer.text, result(id))
    t.ok(replayed(answer))
    t.equal(Number(answer.headers['content-length']), Buffer.byteLength(result(id)))
    t.notOk(answer.headers.etag, 'other bytes than it was made for')
  }
  const kept = await ask(`/status/${fingerprintOf(first)}/result`, { method: 'GET' })
  t.equal(kept.text, result('1'), 'the result page gives the stored bytes')
  t.equal(kept.headers.etag, '"x"')
  t.equal(upstream.count(), 1)
})

t.test('so does each event of a recorded stream, with the token of who asks', async (t) => {
  const { upstream, ask } = await stage(t, { rules: RULE, handler: answering('text/event-stream', stream('1', '1')) })
  await ask('/mcp', { raw: call('1', { token: '1' }) })
  for (const id of ids) {
    const answer = await ask('/mcp', { raw: call(id, { token: '"t"' }) })
    t.equal(answer.text, stream(id, '"t"'))
    t.equal(answer.headers['content-type'], 'text/event-stream')
  }
  t.notMatch((await ask('/mcp', { raw: call('9') })).text, /"progressToken":1,"progress"/, 'who has none does not get another one’s')
  t.equal(upstream.count(), 1)
})

t.test('a compressed answer is addressed as well, and sent decoded', async (t) => {
  const { ask } = await stage(t, { rules: RULE, handler: answering('application/json', result('1'), { 'content-encoding': 'gzip' }) })
  const headers = { 'accept-encoding': 'gzip' }
  const first = await ask('/mcp', { raw: call('1'), headers })
  const again = await ask('/mcp', { raw: call('1'), headers })
  t.same(again.body, first.body, 'the stored bytes, where nothing changes')
  t.equal(again.headers['content-encoding'], 'gzip')
  const other = await ask('/mcp', { raw: call('2'), headers })
  t.equal(other.text, result('2'))
  t.equal(other.headers['content-encoding'], undefined)
  t.equal(Number(other.headers['content-length']), other.body.length)
})

t.test('bytes that are not what their coding says are replayed as they came', async (t) => {
  const { ask } = await stage(t, {
    rules: RULE,
    handler: (_request, response) =>
      void response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(result('1')),
  })
  await ask('/mcp', { raw: call('1') })
  t.equal((await ask('/mcp', { raw: call('2') })).text, result('1'))
})

t.test('held callers get one execution, each under its own id', async (t) => {
  const door = latch()
  const { gateway, upstream } = await stage(t, {
    rules: `${RULE}\n    inFlight: { answer: wait }`,
    handler: async (...exchange) => {
      await door.opened
      await answering('application/json', result('1'))(...exchange)
    },
  })
  const headers = { authorization: 'Bearer a', 'content-type': 'application/json' }
  const asking = (id: string): Promise<Answer> => send(`${gateway.url}/mcp`, { headers, body: call(id) })
  const first = asking('1')
  await upstream.arrived(1)
  const others = ids.map(asking)
  const status = `${gateway.url}/status/${String(upstream.received[0]!.headers['idempotency-fingerprint'])}`
  await until('all have come', async () => (await send(status, { method: 'GET' })).json().duplicates === ids.length)
  door.open()
  t.equal((await first).text, result('1'))
  t.same(
    (await Promise.all(others)).map(({ text }) => text),
    ids.map(result),
  )
  t.equal(upstream.count(), 1)
})

t.test('without the setting the stored bytes are replayed', async (t) => {
  const { ask } = await stage(t, {
    rules: RULE.replace('protocol: jsonrpc', 'protocol: http'),
    handler: answering('application/json', result('1')),
  })
  await ask('/mcp', { raw: call('1') })
  t.equal((await ask('/mcp', { raw: call('2') })).text, result('1'))
})

t.test('a refusal is a JSON-RPC error under the id of the request, with status and hints of any refusal', async (t) => {
  const door = latch()
  const { upstream, ask } = await stage(t, { rules: `${RULE}\n    inFlight: { status: 429 }`, handler: () => door.opened })
  const first = ask('/mcp', { raw: call('1') }).catch(() => {})
  await upstream.arrived(1)
  for (const id of ids) {
    const refused = await ask('/mcp', { raw: call(id), headers: { accept: '*/*' } })
    t.equal(refused.status, 429)
    t.match(refused.text, `{"jsonrpc":"2.0","id":${id},"error":{"code":-32080,"message":"`)
    t.equal(refused.headers['content-type'], 'application/json')
    t.equal(refused.headers['oncegate-error'], 'in-flight')
    t.match(refused.headers['retry-after'], /^\d+$/)
    t.same(lines(refused, 'x-should-retry'), ['true'])
    const { data } = refused.json().error
    t.match(data, {
      code: 'in-flight',
      type: 'urn:oncegate:in-flight',
      status: 429,
      retry: 'same-key',
      fingerprint: String,
      status_url: String,
      retry_after: Number,
    })
  }
  upstream.server.closeAllConnections()
  await first
})

t.test('what cannot be read, or not yet, is refused in the same words', async (t) => {
  const { ask, upstream } = await stage(t, { rules: `${RULE}\n    maxBody: 200B` })
  const broken = await ask('/mcp', { raw: '{"jsonrpc":"2.0","id":7,"method":"tools/call",}' })
  t.match(broken.json(), { jsonrpc: '2.0', id: 7, error: { code: -32700, data: { code: 'body-invalid' } } })
  const large = await ask('/mcp', { raw: call('7').padEnd(300) })
  t.match(
    large.json(),
    { jsonrpc: '2.0', id: null, error: { code: -32080, data: { code: 'body-too-large', status: 413 } } },
    'it was not read',
  )
  const missing = await ask('/mcp', { raw: '{"id":"a","method":"tools/call"}' })
  t.match(missing.json(), { id: 'a', error: { code: -32602, data: { code: 'field-missing' } } })
  t.equal(upstream.count(), 0)
  await ask('/mcp', { raw: '{"id":1,"method":"tools/list"}' })
  t.equal(upstream.count(), 1)
  await upstream.close()
  const passed = await ask('/mcp', { raw: '{"id":1,"method":"tools/list"}' })
  t.match(passed.json(), { type: 'urn:oncegate:upstream-unreachable' }, 'what no rule guards has no dialect')
})

t.test('whoever joins a running stream gets each event addressed to it, coded or not', async (t) => {
  for (const coding of [undefined, 'gzip']) {
    const door = latch()
    const [before, after] = [stream('1', '1').slice(0, 60), stream('1', '1').slice(60)]
    const code = (text: string): Buffer => (coding === undefined ? Buffer.from(text) : gzipSync(text))
    const { upstream, ask } = await stage(t, {
      rules: `${RULE}\n    inFlight: { answer: attach }`,
      handler: async (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream', ...(coding && { 'content-encoding': coding }) })
        response.write(code(before))
        await door.opened
        response.end(code(after))
      },
    })
    const headers = { 'accept-encoding': 'gzip' }
    const first = ask('/mcp', { raw: call('1', { token: '1' }), headers })
    await upstream.arrived(1)
    const others = ids.map((id) => ask('/mcp', { raw: call(id, { token: '"t"' }), headers }))
    door.open()
    for (const [n, answer] of (await Promise.all(others)).entries()) {
      t.equal(answer.text, stream(ids[n]!, '"t"'))
      t.ok(replayed(answer) && answer.whole)
    }
    t.equal((await first).body.equals(Buffer.concat([code(before), code(after)])), true, 'the first client has the bytes as they came')
    t.equal(upstream.count(), 1)
  }
})
