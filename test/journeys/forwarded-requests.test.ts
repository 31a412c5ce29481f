// What of a request reaches the upstream, guarded or not, and what a bare proxy stumbles over.
import { createHash, randomBytes } from 'node:crypto'
import http from 'node:http'
import t from 'tap'
import { behind, behindRaw, KEYED, key } from '../helpers/behind.ts'
import { lines, send } from '../helpers/client.ts'
import { Conversation } from '../helpers/conversation.ts'
import { json, latch } from '../helpers/upstream.ts'
import { until } from '../helpers/until.ts'

/** A guarded request in bytes. */
function guarded(path: string, headers: string[], body: string | undefined): string {
  return [`POST ${path} HTTP/1.1`, 'Host: x', 'Authorization: Bearer a', `Idempotency-Key: k`, ...headers, '', body ?? ''].join('\r\n')
}

t.test('a guarded body is forwarded byte for byte, whatever its type', async (t) => {
  const { gateway, upstream } = await behind(t)
  const odd = '{ "a" : 1.0 ,\n "b":"\\u00e9", "n": 9007199254740993 }'
  const types = [
    'application/json',
    'application/json; charset=utf-8',
    'application/vnd.x+json',
    'application/octet-stream',
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    '',
    'json',
    ';;;',
    'text/plain; charset',
    'application/json, text/plain',
    '/',
  ]
  const bodies = [Buffer.from(odd), randomBytes(2048), Buffer.alloc(0)]
  for (const [n, type] of types.entries()) {
    for (const [m, body] of bodies.entries()) {
      // What is no JSON is refused where its type says that it is.
      if (m > 0 && type.includes('json') && type.includes('/') && !type.includes(',')) continue
      // Nor is what is no form, but for the empty one.
      if (m < 2 && type.startsWith('multipart/')) continue
      const headers = { ...key(`k${n}-${m}`), 'content-type': type }
      const answer = await send(`${gateway.url}/x?a=%20b`, { headers, body, timeout: 2000 })
      t.equal(answer.status, 200, `${JSON.stringify(type)}, body ${m}: ${answer.text}`)
      const seen = upstream.received.at(-1)!
      t.ok(seen.body.equals(body), 'the bytes')
      t.equal(seen.headers['content-length'], String(body.length))
      t.equal(seen.headers['content-type'], type)
      t.equal(seen.url, '/x?a=%20b')
      t.equal((await send(`${gateway.url}/x?a=%20b`, { headers, body })).headers['idempotency-replayed'], 'true')
    }
  }
  t.equal(upstream.count(), types.length * bodies.length - 8)
  const form = Buffer.from('--x\r\nContent-Disposition: form-data; name="a"; filename="é"\r\n\r\n\0\xff\r\n--x--\r\n', 'latin1')
  await send(`${gateway.url}/x`, { headers: { ...key('form'), 'content-type': 'multipart/form-data; boundary=x' }, body: form })
  t.ok(upstream.received.at(-1)!.body.equals(form), 'a form')
})

t.test('a content type of any form passes without a guard as well', async (t) => {
  const { gateway, upstream } = await behind(t, { rules: `${KEYED}    mode: off\n` })
  for (const type of ['application/octet-stream', ';;;', '', 'json', 'application/json', 'text/plain; charset']) {
    for (const method of ['POST', 'DELETE', 'PROPFIND']) {
      const answer = await send(gateway.url, { method, headers: { 'content-type': type }, body: '{"a" :1}' })
      t.equal(answer.status, 200, `${method} ${JSON.stringify(type)}: ${answer.text}`)
      t.match(upstream.received.at(-1), { method, headers: { 'content-type': type } })
      t.equal(upstream.received.at(-1)!.body.toString(), '{"a" :1}')
    }
  }
})

t.test('header lines reach the upstream in their order and number; those of the hop do not', async (t) => {
  const { gateway, upstream } = await behind(t)
  const kept = ['X-B', '1', 'Accept', 'a/b', 'x-b', '2', 'Cookie', 'a=1; b=2', 'X-Latin', 'caf\xe9', 'X-Empty', '', 'X-B', '3']
  const hop = [
    ['Connection', 'X-Mine, keep-alive', 'X-Mine', 'secret', 'Keep-Alive', 'timeout=5', 'TE', 'trailers'],
    ['Proxy-Connection', 'keep-alive', 'Upgrade', 'h3'],
  ].flat()
  for (const own of [['Authorization', 'Bearer a', 'Idempotency-Key', 'k'], []]) {
    const method = own.length > 0 ? 'POST' : 'GET'
    const answer = await send(gateway.url, { method, headers: [...own, ...kept, ...hop] })
    t.equal(answer.status, 200, answer.text)
    const seen = upstream.received.at(-1)!.rawHeaders
    const from = seen.indexOf('X-B')
    t.same(seen.slice(from, from + kept.length), kept, method)
    const names = seen.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase())
    for (const name of ['x-mine', 'keep-alive', 'te', 'proxy-connection', 'upgrade', 'transfer-encoding']) {
      t.notOk(names.includes(name), `${method}: ${name} stays here`)
    }
  }
  // The upstream's own address is all it is told of the host.
  t.equal(upstream.received[0]!.headers.host, new URL(upstream.url).host)
})

t.test('a header that Connection names is not there for a fingerprint either', async (t) => {
  const { gateway, upstream } = await behind(t)
  const refused = await send(gateway.url, {
    headers: ['Authorization', 'a', 'Idempotency-Key', 'k', 'Connection', 'Idempotency-Key, keep-alive'],
  })
  t.match(refused, { status: 400, headers: { 'oncegate-error': 'key-missing' } })
  t.equal(upstream.count(), 0)
})

t.test('headers of the upstream’s hop do not reach the client', async (t) => {
  const { gateway } = await behindRaw(t, (socket) => {
    socket.write(
      'HTTP/1.1 200 OK\r\nConnection: X-Mine, keep-alive\r\nX-Mine: 1\r\nKeep-Alive: timeout=77\r\nProxy-Connection: x\r\nUpgrade: h3\r\n' +
        'X-Yours: 1\r\nContent-Length: 2\r\n\r\nok',
    )
  })
  for (const asked of [{ headers: key('k') }, { headers: key('k') }, { method: 'GET' }]) {
    const answer = await send(gateway.url, asked)
    t.match(answer, { status: 200, text: 'ok', headers: { 'x-yours': '1' } })
    for (const name of ['x-mine', 'proxy-connection', 'upgrade']) t.notOk(answer.headers[name], name)
    t.notMatch(answer.headers['keep-alive'] ?? '', '77')
    t.notMatch(answer.headers.connection ?? '', 'X-Mine')
  }
})

t.test('the upstream gets the client’s key, else the fingerprint', async (t) => {
  const { gateway, upstream } = await behind(t, {
    rules: `
  - name: by-body
    match: { path: /by-body }
    fingerprint: { object: body.id }
  - name: by-other-header
    match: { path: /by-other-header }
    fingerprint: { key: header.x-request-key }
${KEYED}`,
  })
  await send(`${gateway.url}/x`, { headers: key('"quoted"') })
  t.same(lines(upstream.received.at(-1)!, 'idempotency-key'), ['"quoted"'])
  const answer = await send(`${gateway.url}/by-body`, { headers: { authorization: 'a' }, body: { id: 1 } })
  t.same(lines(upstream.received.at(-1)!, 'idempotency-key'), [answer.headers['idempotency-fingerprint']])
  await send(`${gateway.url}/by-other-header`, { headers: { authorization: 'a', 'x-request-key': 'mine' } })
  t.same(lines(upstream.received.at(-1)!, 'idempotency-key'), ['mine'])
})

t.test('two Idempotency-Key lines are refused, not joined', async (t) => {
  const { gateway, upstream } = await behind(t)
  for (const second of ['k', 'other']) {
    const answer = await send(gateway.url, { headers: { authorization: 'a', 'idempotency-key': ['k', second] } })
    t.match(answer, { status: 400, headers: { 'oncegate-error': 'key-invalid' } })
  }
  t.equal(upstream.count(), 0)
})

t.test('Expect: 100-continue: the gateway says 100 when it reads, and the upstream never sees it', async (t) => {
  const { gateway, upstream } = await behind(t, { rules: `${KEYED}    maxBody: 2MiB\n` })
  const body = 'x'.repeat(1024 * 1024)
  for (const [n, head] of [
    guarded('/x', ['Expect: 100-continue', `Content-Length: ${body.length}`], undefined),
    `DELETE /x HTTP/1.1\r\nHost: x\r\nexpect: 100-Continue\r\nContent-Length: ${body.length}\r\n\r\n`,
  ].entries()) {
    const talk = await Conversation.open(gateway.port, head)
    t.teardown(() => talk.close())
    await talk.hears(/^HTTP\/1\.1 100 Continue\r\n\r\n$/)
    talk.received = ''
    talk.write(body)
    t.equal((await talk.answer()).status, 200)
    t.equal(upstream.count(), n + 1)
    t.equal(upstream.received[n]!.body.length, body.length)
    t.notOk(upstream.received[n]!.headers.expect)
  }
})

t.test('requests with Expect or Keep-Alive take no connection of the pool with them', async (t) => {
  const { gateway, upstream } = await behind(t, { rules: KEYED })
  for (let n = 0; n < 300; n++) {
    const method = n % 2 === 0 ? 'POST' : 'DELETE'
    const headers = { ...key(`k${n}`), 'keep-alive': 'timeout=5', expect: '100-continue' }
    const answer = await send(gateway.url, { method, headers, body: 'x', timeout: 2000 })
    if (answer.status !== 200) t.fail(`request ${n} got ${answer.status}`)
  }
  t.equal(upstream.count(), 300)
})

t.test('a body that is refused by its length is never asked for: 413 without a 100', async (t) => {
  const { gateway, upstream } = await behind(t, { rules: `${KEYED}    maxBody: 1KiB\n` })
  const talk = await Conversation.open(gateway.port, guarded('/x', ['Expect: 100-continue', 'Content-Length: 2000000'], undefined))
  const { status, head } = await talk.answer()
  t.equal(status, 413)
  t.match(head, 'Oncegate-Error: body-too-large')
  t.notMatch(head, '100 Continue')
  t.match(head, /connection: close/i, 'what may still come on this connection is not the next request')
  await until('the connection is closed', () => talk.closed !== 'no')
  t.equal(upstream.count(), 0)
})

t.test('a body over maxBody is refused, and the client reads the refusal although it is still sending', async (t) => {
  const { gateway, upstream } = await behind(t, { rules: `${KEYED}    maxBody: 1KiB\n` })
  for (let n = 0; n < 10; n++) {
    for (const framing of ['content-length', 'chunked']) {
      const body = Buffer.alloc(8 * 1024 * 1024, 'x')
      const headers = key('k', framing === 'chunked' ? { 'transfer-encoding': 'chunked' } : {})
      const answer = await send(gateway.url, { headers, body }).catch((error: Error) => error.message)
      t.match(answer, { status: 413, headers: { 'oncegate-error': 'body-too-large' } }, framing)
    }
  }
  t.equal(upstream.count(), 0)
  const atLimit = await send(gateway.url, { headers: key('k'), body: Buffer.alloc(1024) })
  t.equal(atLimit.status, 200)
  t.equal((await send(gateway.url, { headers: key('k2', { 'transfer-encoding': 'chunked' }), body: Buffer.alloc(1025) })).status, 413)
})

t.test('a chunked upload, with trailers and extensions, is forwarded whole', async (t) => {
  const { gateway, upstream } = await behind(t)
  const chunked = '5;ext=1\r\nhello\r\n6\r\n world\r\n0\r\nX-Sum: 1\r\n\r\n'
  const plain = 'DELETE /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n'
  for (const [n, head] of [guarded('/x', ['Transfer-Encoding: chunked', 'Trailer: X-Sum'], ''), plain].entries()) {
    const talk = await Conversation.open(gateway.port, head + chunked)
    t.teardown(() => talk.close())
    t.equal((await talk.answer()).status, 200)
    t.equal(upstream.received[n]!.body.toString(), 'hello world')
    t.notOk(upstream.received[n]!.headers.trailer)
    talk.write(head + chunked)
    t.equal((await talk.answer()).status, 200, 'the connection serves on')
    upstream.received.length = n + 1
  }
})

t.test('what is not HTTP, or not whole, is a 400 that the gateway makes, and claims nothing', async (t) => {
  const { gateway, upstream } = await behind(t)
  const broken: Record<string, string> = {
    'two framings': guarded('/x', ['Content-Length: 5', 'Transfer-Encoding: chunked'], '0\r\n\r\n'),
    'two lengths': guarded('/x', ['Content-Length: 5', 'Content-Length: 6'], 'hello'),
    'no length': guarded('/x', ['Content-Length: five'], 'hello'),
    'no header': 'POST / HTTP/1.1\r\nHost x\r\n\r\n',
    'no HTTP': 'hello\r\n\r\n',
    'no host': 'GET / HTTP/1.1\r\n\r\n',
    'a bad chunk': guarded('/x', ['Transfer-Encoding: chunked'], 'zz\r\nhello\r\n'),
  }
  for (const [what, bytes] of Object.entries(broken)) {
    const talk = await Conversation.open(gateway.port, bytes)
    const { status, head, body } = await talk.answer()
    t.equal(status, 400, what)
    t.match(head, 'Oncegate-Error: request-invalid', what)
    t.match(head, 'application/problem+json', what)
    t.match(JSON.parse(body || '{}'), { type: 'urn:oncegate:request-invalid', retry: 'never' }, what)
    await until(`${what}: the connection is closed`, () => talk.closed !== 'no')
  }
  const half = await Conversation.open(gateway.port, guarded('/x', ['Content-Length: 10'], '12345'))
  half.socket.end()
  t.equal((await half.answer()).status, 400)
  t.equal(upstream.count(), 0)
  const whole = await send(`${gateway.url}/x`, { headers: key('k'), body: '1234567890' })
  t.equal(whole.status, 200, 'the same request sent properly executes')
  t.notOk(whole.headers['idempotency-replayed'])
  t.equal(
    gateway.log.filter((line) => line.outcome === 'request-invalid').length,
    Object.keys(broken).length + 1,
    'each has its line in the log',
  )
})

t.test('headers that are too large are refused with 431', async (t) => {
  const { gateway, upstream } = await behind(t)
  const talk = await Conversation.open(gateway.port, `GET / HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(40_000)}\r\n\r\n`)
  t.equal((await talk.answer()).status, 431)
  t.equal(upstream.count(), 0)
})

t.test('every method that node knows reaches the upstream as itself', async (t) => {
  const { gateway, upstream } = await behind(t)
  const methods = http.METHODS.filter((method) => !['CONNECT', 'POST', 'PUT', 'PATCH'].includes(method))
  t.ok(['PROPFIND', 'QUERY', 'TRACE', 'REPORT'].every((method) => methods.includes(method)))
  for (const method of methods) {
    const body = ['HEAD', 'TRACE'].includes(method) ? undefined : `of ${method}`
    const answer = await send(`${gateway.url}/x`, { method, timeout: 2000, ...(body === undefined ? {} : { body }) })
    t.equal(answer.status, 200, `${method}: ${answer.text}`)
    t.equal(upstream.received.at(-1)!.method, method)
    t.equal(upstream.received.at(-1)!.body.toString(), body ?? '')
  }
})

t.test('HEAD, OPTIONS and TRACE are never guarded', async (t) => {
  const { gateway, upstream } = await behind(t)
  for (const method of ['HEAD', 'OPTIONS', 'TRACE']) {
    for (let n = 0; n < 2; n++) {
      const answer = await send(`${gateway.url}/${method}`, { method, headers: key('k') })
      t.equal(answer.status, 200)
      t.notOk(answer.headers['idempotency-fingerprint'])
    }
    t.equal(upstream.count(`/${method}`), 2)
  }
})

t.test('targets in absolute form go to the upstream, by their path; `OPTIONS *` is answered', async (t) => {
  const { gateway, upstream } = await behind(t)
  const talk = await Conversation.open(gateway.port)
  t.teardown(() => talk.close())
  const reach = async (line: string, seen: string) => {
    talk.write(`${line} HTTP/1.1\r\nHost: other.test\r\n\r\n`)
    t.equal((await talk.answer()).status, 200, line)
    t.equal(upstream.received.at(-1)!.url, seen, line)
  }
  await reach('GET http://other.test/a/../b?x=%20', '/a/../b?x=%20')
  await reach('GET http://user:pass@other.test', '/')
  await reach('GET HTTPS://other.test:99?x', '/?x')
  await reach('OPTIONS *', '/')
  talk.write(guarded('http://other.test/x', ['Content-Length: 2'], '{}'))
  const absolute = await talk.answer()
  talk.write(guarded('/x', ['Content-Length: 2'], '{}'))
  t.match((await talk.answer()).head, /idempotency-replayed: true/i, 'it is the same request as in origin form')
  t.match(absolute.head, /idempotency-fingerprint/i)
})

t.test('an offer to upgrade to something else than WebSocket is not taken up: the request is served as it is', async (t) => {
  const { gateway, upstream } = await behind(t)
  // curl --http2 and the Java client offer this on every plain connection.
  const offer = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__']
  const talk = await Conversation.open(gateway.port, guarded('/x', [...offer, 'Content-Length: 5'], 'hello'))
  t.teardown(() => talk.close())
  const first = await talk.answer()
  t.equal(first.status, 200, first.head)
  talk.write(guarded('/x', ['Content-Length: 5'], 'hello'))
  const second = await talk.answer()
  t.equal(second.status, 200)
  t.match(second.head, /idempotency-replayed: true/i)
  talk.write(['GET /y HTTP/1.1', 'Host: x', ...offer, '', ''].join('\r\n'))
  t.equal((await talk.answer()).status, 200)
  const seen = upstream.received.map((one) => one.headers)
  t.equal(upstream.count(), 2)
  t.equal(upstream.received[0]!.body.toString(), 'hello')
  for (const headers of seen) for (const name of ['upgrade', 'http2-settings']) t.notOk(headers[name])
})

t.test('an upload streams: the upstream has its beginning before the client has sent its end', async (t) => {
  const began = latch()
  const { gateway } = await behind(t)
  const hash = createHash('sha256')
  let bytes = 0
  const server = http.createServer((request, response) => {
    request.on('data', (chunk: Buffer) => {
      hash.update(chunk)
      bytes += chunk.length
      began.open()
    })
    request.on('end', () => json(response, 200, { framing: request.headers['transfer-encoding'] ?? request.headers['content-length'] }))
  })
  const port = await new Promise<number>((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port)),
  )
  const direct = await behind(t, {
    top: '',
    rules: `
  - name: never
    match: { methods: [DELETE], path: /never }
    fingerprint: { key: header.idempotency-key }
    upstream: http://127.0.0.1:${port}
  - name: uploads
    match: { methods: [PUT], path: /* }
    mode: off
    upstream: http://127.0.0.1:${port}
    fingerprint: { key: header.idempotency-key }
`,
  })
  t.teardown(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  t.ok(gateway)
  for (const length of [undefined, 2_000_000]) {
    bytes = 0
    const body = randomBytes(1_000_000)
    const answered = new Promise<string>((resolve, reject) => {
      const request = http.request(`${direct.gateway.url}/up`, {
        method: 'PUT',
        agent: false,
        headers: length === undefined ? {} : { 'content-length': length },
      })
      request.on('response', (response) => response.setEncoding('utf8').on('data', resolve)).on('error', reject)
      request.write(body)
      void until('the first half is there', () => bytes === 1_000_000).then(() => request.end(body), reject)
    })
    t.match(JSON.parse(await answered), { framing: length === undefined ? 'chunked' : String(length) })
    t.equal(bytes, 2_000_000)
  }
})

t.test('an upstream that refuses an upload before it has come is heard', async (t) => {
  const { gateway } = await behind(t, { rules: `${KEYED}    mode: off\n` })
  const server = http.createServer((_request, response) => {
    response.writeHead(413, { 'Content-Type': 'text/plain', Connection: 'close' }).end('too much')
  })
  const port = await new Promise<number>((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port)),
  )
  t.ok(gateway)
  const early = await behind(t, {
    rules: `
  - name: uploads
    match: { methods: [PUT], path: /* }
    mode: off
    upstream: http://127.0.0.1:${port}
    fingerprint: { key: header.idempotency-key }
`,
  })
  t.teardown(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  for (const framing of ['Content-Length: 10000000', 'Transfer-Encoding: chunked']) {
    const talk = await Conversation.open(early.gateway.port, `PUT /up HTTP/1.1\r\nHost: x\r\n${framing}\r\n\r\n5\r\nhello\r\n`)
    t.teardown(() => talk.close())
    await talk.hears(/^HTTP\/1\.1 413 [\s\S]*too much/)
  }
})
