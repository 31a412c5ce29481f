// Upstreams that fail, break off or never answer: what the client sees, and how often it was executed.
import { once, setMaxListeners } from 'node:events'
import http from 'node:http'
import t from 'tap'
import { behind, behindRaw, KEYED, key } from '../helpers/behind.ts'
import { type Answer, send } from '../helpers/client.ts'
import { Conversation } from '../helpers/conversation.ts'
import { testGateway } from '../helpers/gateway.ts'
import { freePort } from '../helpers/redis-server.ts'
import { json, startUpstream } from '../helpers/upstream.ts'
import { within } from '../helpers/until.ts'

const POST = 'POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\r\nIdempotency-Key: k\r\nContent-Length: 0\r\n\r\n'

async function statusOf(gateway: { url: string }, answer: Answer): Promise<string> {
  const page = await send(`${gateway.url}/status/${String(answer.headers['idempotency-fingerprint'])}`, { method: 'GET' })
  return page.json().status
}

t.test('a failure is passed on once and not stored: the retry executes, its result is replayed', async (t) => {
  const { gateway, upstream } = await behind(t, {
    handler: (request, response) =>
      json(response, upstream.count(request.url) === 1 ? Number(request.url.slice(1)) : 200, { n: upstream.count(request.url) }),
  })
  for (const status of [401, 403, 408, 409, 425, 429, 500, 501, 502, 503, 529, 599]) {
    const ask = () => send(`${gateway.url}/${status}`, { headers: key('k') })
    const first = await ask()
    t.match(first, { status, text: '{"n":1}' })
    t.notOk(first.headers['oncegate-error'], 'it is the upstream’s own')
    t.equal(upstream.count(`/${status}`), 1, `${status}: sent once`)
    t.equal(await statusOf(gateway, first), 'failed')
    const second = await ask()
    t.match(second, { status: 200, text: '{"n":2}' })
    t.notOk(second.headers['idempotency-replayed'])
    t.match(await ask(), { status: 200, text: '{"n":2}', headers: { 'idempotency-replayed': 'true' } })
    t.equal(upstream.count(`/${status}`), 2)
  }
})

t.test('a failed answer is seen only when its claim is gone: a retry at once is never told 425', async (t) => {
  const { gateway, upstream } = await behind(t, { handler: (_request, response) => json(response, 500, {}) })
  const talk = await Conversation.open(gateway.port)
  t.teardown(() => talk.close())
  for (let n = 1; n <= 200; n++) {
    talk.write(POST)
    const { status } = await talk.answer()
    if (status !== 500) t.fail(`retry ${n} got ${status}`)
  }
  t.equal(upstream.count(), 200)
})

t.test('a refused input under the same key: the record is kept by default, released where the rule says so', async (t) => {
  const handler = (request: { body: Buffer }, response: http.ServerResponse) =>
    json(response, (JSON.parse(request.body.toString()) as { code: string }).code === '1' ? 400 : 200, {})
  const { gateway, upstream } = await behind(t, { handler })
  const ask = (code: string) => send(gateway.url, { headers: key('k'), body: { code } })
  t.equal((await ask('1')).status, 400)
  t.equal((await ask('2')).status, 422, 'another input is never answered from the record')
  t.equal((await ask('1')).headers['idempotency-replayed'], 'true')
  t.equal(upstream.count(), 1)

  const onlyCode = `
  - name: login
    match: { path: /* }
    fingerprint: { user: header.x-user }
    outcome: { failed: [400] }
`
  const other = await behind(t, { handler, rules: onlyCode })
  const login = (code: string) => send(other.gateway.url, { headers: { authorization: 'a', 'x-user': 'u' }, body: { code } })
  t.equal((await login('1')).status, 400)
  t.equal((await login('2')).status, 200)
  t.equal(other.upstream.count(), 2)
})

t.test('an upstream that cannot be reached: 502, and a duplicate executes once it is there', async (t) => {
  const port = await freePort()
  const gateway = await testGateway({ upstream: `http://127.0.0.1:${port}`, rules: KEYED })
  t.teardown(() => gateway.close())
  const ask = () => send(gateway.url, { headers: key('k'), body: {} })
  const refused = await ask()
  t.match(refused, { status: 502, headers: { 'oncegate-error': 'upstream-unreachable', 'x-should-retry': 'true' } })
  t.equal(refused.json().retry, 'same-key')
  t.equal(await statusOf(gateway, refused), 'failed')
  t.match(await send(gateway.url, { method: 'GET' }), { status: 502, headers: { 'oncegate-error': 'upstream-unreachable' } })

  const server = http.createServer((_request, response) => response.end('there'))
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const second = await ask()
  t.match(second, { status: 200, text: 'there' })
  t.notOk(second.headers['idempotency-replayed'])
})

const BREAKS: Record<string, string> = {
  'before the head': '',
  'within the head': 'HTTP/1.1 200 OK\r\nContent-Type: te',
  'after some of a declared length': 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabcde',
  'within a large declared length': `HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(400_000)}`,
  'within a chunk': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n5\r\nab',
  'before the last chunk': 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n',
}

for (const [where, bytes] of Object.entries(BREAKS)) {
  for (const how of ['reset', 'end'] as const) {
    t.test(`an upstream that breaks ${where} (${how}): never a clean end, never executed again by itself`, async (t) => {
      const { gateway, upstream } = await behindRaw(t, (socket) => {
        // A reset would throw away what the other side has not read yet.
        socket.write(bytes === '' ? 'HTTP' : bytes, () => setImmediate(() => (how === 'reset' ? socket.resetAndDestroy() : socket.end())))
      })
      const ask = () => send(gateway.url, { headers: key('k') })
      const first = await ask().catch((error: NodeJS.ErrnoException) => error)
      if (first instanceof Error) t.equal(first.code, 'ECONNRESET', 'the head had been sent, or was about to be')
      else if (first.status === 502)
        t.match(first, { headers: { 'oncegate-error': 'upstream-broken', 'x-should-retry': 'false' }, whole: true })
      else t.notOk(first.whole, 'what was begun does not end cleanly')
      if (where.includes('head')) t.match(first, { status: 502 })
      for (let n = 0; n < 3; n++) {
        const again = await ask()
        t.match(again, { status: 409, headers: { 'oncegate-error': 'outcome-unknown' } })
        t.equal(await statusOf(gateway, again), 'unknown')
      }
      t.equal(upstream.count(), 1)

      const passed = await send(gateway.url, { method: 'GET' }).catch((error: NodeJS.ErrnoException) => error)
      if (!(passed instanceof Error) && passed.status !== 502) t.notOk(passed.whole, 'nor on a route without a guard')
      t.equal(upstream.count(), 2, 'which is not repeated either')
    })
  }
}

t.test('a broken answer is broken for an HTTP/1.0 client as well, which has only the connection to tell it', async (t) => {
  const { gateway } = await behindRaw(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n', () => setTimeout(() => socket.end(), 50))
  })
  const client = await Conversation.open(gateway.port, POST.replace('HTTP/1.1', 'HTTP/1.0'))
  await client.hears(/abcde/).catch(() => {})
  await within('the connection closes', new Promise<void>((resolve) => client.socket.once('close', () => resolve())))
  t.equal(client.closed, 'reset')
})

t.test('with onUnknown: retry the duplicate executes, as a further attempt', async (t) => {
  const { gateway, upstream } = await behind(t, {
    rules: `${KEYED}    onUnknown: retry\n`,
    handler: (_request, response, raw) => {
      if (upstream.count() === 1) raw.socket.destroy()
      else json(response, 200, {})
    },
  })
  const first = await send(gateway.url, { headers: key('k') })
  t.match(first, { status: 502, headers: { 'oncegate-error': 'upstream-broken', 'x-should-retry': 'true' } })
  t.equal((await send(gateway.url, { headers: key('k') })).status, 200)
  t.same(
    upstream.received.map((one) => one.headers['idempotency-attempt']),
    ['1', '2'],
  )
})

t.test('an upstream that breaks off is not asked again by the gateway: no method, with a body or without one', async (t) => {
  const { gateway, upstream } = await behind(t, { handler: (_request, _response, raw) => void raw.socket.destroy() })
  const methods = ['POST', 'PUT', 'PATCH', 'DELETE', 'GET', 'HEAD', 'OPTIONS']
  for (const method of methods) {
    for (const body of method === 'HEAD' ? [undefined] : [undefined, 'x']) {
      const path = `/${method}/${String(body)}`
      const answer = await send(`${gateway.url}${path}`, { method, headers: key('k'), ...(body === undefined ? {} : { body }) })
      t.equal(answer.status, 502, path)
      t.equal(upstream.count(path), 1, path)
    }
  }
})

t.test('a kept connection that the upstream has closed in the meantime costs no request', async (t) => {
  const { gateway, upstream } = await behind(t)
  upstream.server.keepAliveTimeout = 40
  for (let n = 1; n <= 20; n++) {
    t.equal((await send(gateway.url, { headers: key(`k${n}`) })).status, 200)
    // Around the moment at which the upstream closes it.
    await new Promise((resolve) => setTimeout(resolve, 30 + n))
  }
  t.equal(upstream.count(), 20)
})

t.test('the rule’s timeout bounds the wait for the head and the gaps within the body', async (t) => {
  const { gateway, upstream } = await behind(t, {
    rules: `${KEYED}    timeout: 300ms\n`,
    handler: (request, response) => {
      if (request.url === '/body') response.write('some')
    },
  })
  const started = Date.now()
  const late = await send(`${gateway.url}/head`, { headers: key('k') })
  const took = Date.now() - started
  t.match(late, { status: 504, headers: { 'oncegate-error': 'upstream-timeout' } })
  t.ok(took >= 290 && took < 1500, `after ${took} ms`)
  t.equal(late.json().retry, 'never')
  t.notOk((await send(`${gateway.url}/body`, { headers: key('k') })).whole)
  for (const path of ['/head', '/body']) {
    t.match(await send(`${gateway.url}${path}`, { headers: key('k') }), { status: 409, headers: { 'oncegate-error': 'outcome-unknown' } })
  }
  t.equal(upstream.count(), 2)
})

t.test('an upstream’s own 504 leaves the outcome unknown', async (t) => {
  const { gateway, upstream } = await behind(t, { handler: (_request, response) => json(response, 504, { late: true }) })
  const first = await send(gateway.url, { headers: key('k') })
  t.match(first, { status: 504, text: '{"late":true}' })
  t.equal((await send(gateway.url, { headers: key('k') })).status, 409)
  t.equal(upstream.count(), 1)
})

t.test('one upstream that hangs takes nothing from the others', async (t) => {
  const hanging = await startUpstream(() => {})
  const { gateway } = await behind(t, {
    rules: `
  - name: hanging
    match: { path: /hanging }
    upstream: ${hanging.url}
    fingerprint: { key: header.idempotency-key }
    onDisconnect: abort
${KEYED}`,
  })
  t.teardown(() => hanging.close())
  const leave = new AbortController()
  setMaxListeners(0, leave.signal)
  const hung = Array.from({ length: 20 }, (_, n) =>
    send(`${gateway.url}/hanging`, { headers: key(`k${n}`), signal: leave.signal }).catch(() => {}),
  )
  await hanging.arrived(20)
  t.equal((await send(`${gateway.url}/x`, { headers: key('k'), timeout: 1000 })).status, 200)
  leave.abort()
  await Promise.all(hung)
})
