// A guarded answer of any kind is exact for the first client and for the replay.
import { createHash, randomBytes } from 'node:crypto'
import http from 'node:http'
import { brotliCompressSync, gunzipSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { behind, behindRaw, key } from '../helpers/behind.ts'
import { type Answer, lines, send } from '../helpers/client.ts'
import { Conversation } from '../helpers/conversation.ts'
import { json } from '../helpers/upstream.ts'

const BINARY = Buffer.concat([Buffer.from(Array.from({ length: 256 }, (_, n) => n)), randomBytes(3000)])
const BIG = randomBytes(300_000)
const GZIPPED = gzipSync('{"n":1}')

/** What one hop or the gateway itself adds: not part of the upstream's answer. */
const OF_THIS_HOP = ['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'date', 'age']

function ownLines(answer: Answer): string[] {
  return answer.rawHeaders.filter((_, i, all) => {
    const name = all[i - (i % 2)]!.toLowerCase()
    return !OF_THIS_HOP.includes(name) && !name.startsWith('idempotency-')
  })
}

interface Kind {
  name: string
  status: number
  headers: string[]
  body?: Buffer | string
  chunks?: (Buffer | string)[]
  method?: string
}

const KINDS: Kind[] = [
  { name: 'JSON', status: 200, headers: ['Content-Type', 'application/json'], body: '{ "a" : 1.0 ,\n "b":"\\u00e9" }' },
  { name: 'created', status: 201, headers: ['Location', '/things/1', 'Content-Type', 'application/json'], body: '{"id":1}' },
  { name: 'accepted', status: 202, headers: ['Content-Type', 'text/plain'], body: 'later' },
  { name: 'no content', status: 204, headers: ['ETag', '"v1"'], method: 'PUT' },
  { name: 'multi-status', status: 207, headers: ['Content-Type', 'application/xml'], body: '<multistatus/>' },
  { name: 'see other', status: 303, headers: ['Location', 'https://shop.test/order?id=1'], body: '' },
  { name: 'not modified', status: 304, headers: ['ETag', 'W/"v1"'] },
  { name: 'not found', status: 404, headers: ['Content-Type', 'application/problem+json'], body: '{"type":"about:blank"}' },
  { name: 'teapot', status: 418, headers: ['Content-Type', 'text/plain'], body: 'short and stout' },
  { name: 'empty', status: 200, headers: ['Content-Type', 'text/plain', 'X-Latin', 'caf\xe9'], body: '' },
  { name: 'no content type', status: 200, headers: ['X-A', '1'], body: 'bytes' },
  { name: 'CSV', status: 200, headers: ['Content-Type', 'text/csv; charset=iso-8859-1'], body: Buffer.from([0xe9, 0x2c, 0x31]) },
  { name: 'binary', status: 200, headers: ['Content-Type', 'application/octet-stream'], body: BINARY },
  { name: 'large', status: 200, headers: ['Content-Type', 'application/octet-stream'], body: BIG },
  {
    name: 'chunked',
    status: 200,
    headers: ['Content-Type', 'text/plain', 'X-Latin', 'caf\xe9'],
    chunks: Array.from({ length: 5 }, (_, n) => String(n).repeat(10_240)),
  },
  { name: 'chunked and empty', status: 200, headers: ['Content-Type', 'text/plain'], chunks: [] },
  {
    name: 'many headers',
    status: 200,
    headers: [
      'Content-Disposition',
      'attachment; filename="a,b.txt"',
      'X-Date',
      'Mon, 01 Jan 2029 00:00:00 GMT',
      'X-M',
      '1',
      'Link',
      '</a>; rel=a',
      'x-m',
      '2',
      'X-Empty',
      '',
      'Link',
      '</b>; rel=b',
      'X-Latin',
      'caf\xe9',
      'Vary',
      'Accept',
    ],
    body: 'x',
  },
]

t.test('status, header lines and bytes are the same for the first client and for every replay', async (t) => {
  const { gateway, upstream } = await behind(t, {
    handler: (request, response) => {
      const kind = KINDS[Number(request.url.slice(1))]!
      const length = kind.body === undefined ? [] : ['Content-Length', String(Buffer.byteLength(kind.body))]
      response.sendDate = false
      response.writeHead(kind.status, [...kind.headers, ...length])
      for (const chunk of kind.chunks ?? []) response.write(Buffer.from(chunk))
      // As a Buffer: beside a string node would write the head as UTF-8.
      response.end(Buffer.from(kind.body ?? ''))
    },
  })
  for (const [n, kind] of KINDS.entries()) {
    const ask = () => send(`${gateway.url}/${n}`, { method: kind.method ?? 'POST', headers: key('k'), body: '{}' })
    const bytes = Buffer.concat((kind.chunks ?? [kind.body ?? '']).map((piece) => Buffer.from(piece)))
    const first = await ask()
    t.equal(first.status, kind.status, kind.name)
    t.same(ownLines(first), kind.headers, `${kind.name}: header lines as the upstream wrote them`)
    t.ok(first.body.equals(bytes), `${kind.name}: bytes`)
    t.notOk(first.headers['idempotency-replayed'])
    for (let again = 0; again < 2; again++) {
      const replay = await ask()
      t.equal(replay.headers['idempotency-replayed'], 'true', `${kind.name}: replayed`)
      t.equal(replay.status, kind.status)
      t.same(ownLines(replay), kind.headers, `${kind.name}: header lines of the replay`)
      t.ok(replay.body.equals(bytes), `${kind.name}: bytes of the replay`)
      t.ok(replay.whole)
      t.equal(replay.headers['content-length'], kind.status === 204 || kind.status === 304 ? undefined : String(bytes.length))
    }
    t.equal(upstream.count(`/${n}`), 1, `${kind.name}: executed once`)
  }
  t.notOk(
    gateway.log.some((line) => Number(line.level) > 30),
    'nothing of it is a fault in the log',
  )
})

t.test('the result has the hash of the bytes in /status, and its owner reads it there', async (t) => {
  const { gateway } = await behind(t, { handler: (_request, response) => void response.end(BINARY) })
  const first = await send(`${gateway.url}/x`, { headers: key('k') })
  const page = `${gateway.url}/status/${String(first.headers['idempotency-fingerprint'])}`
  const status = await send(page, { method: 'GET' })
  t.equal(status.json().result_hash, `sha256:${createHash('sha256').update(BINARY).digest('hex')}`)
  const result = await send(`${page}/result`, { method: 'GET', headers: { authorization: 'Bearer a' } })
  t.ok(result.body.equals(BINARY))
})

t.test('what the upstream compressed stays so for who accepts it, and is decoded for who does not, in either order', async (t) => {
  const { gateway, upstream } = await behind(t, {
    handler: (request, response) => {
      const coding = request.url === '/br' ? 'br' : 'gzip'
      const body = coding === 'br' ? brotliCompressSync('{"n":1}') : GZIPPED
      response.writeHead(200, {
        'Content-Type': 'application/json',
        'Content-Encoding': coding,
        ETag: '"c"',
        'Content-Length': body.length,
      })
      response.end(body)
    },
  })
  const ask = (path: string, accept: string) => send(`${gateway.url}${path}`, { headers: key('k', { 'accept-encoding': accept }) })
  for (const [path, order] of [
    ['/1', ['gzip', 'identity', 'gzip']],
    ['/2', ['identity', 'gzip', 'identity']],
    ['/3', ['gzip, br', 'gzip;q=0', '*']],
  ] as const) {
    for (const [n, accept] of order.entries()) {
      const answer = await ask(path, accept)
      // The first client gets what the upstream made of its request.
      const coded = n === 0 || accept === 'gzip' || accept === '*'
      t.equal(answer.headers['content-encoding'], coded ? 'gzip' : undefined, `${path} ${accept}`)
      t.equal((coded ? gunzipSync(answer.body) : answer.body).toString(), '{"n":1}')
      t.equal(answer.headers['content-length'], String(answer.body.length))
      if (coded) t.ok(answer.body.equals(GZIPPED))
      else t.notOk(answer.headers.etag, 'a strong validator is of other bytes')
    }
    t.equal(upstream.count(path), 1)
  }
  await ask('/br', 'br')
  t.equal((await ask('/br', 'gzip')).text, '{"n":1}')
})

t.test('what is meant for the first client alone is not replayed; replayHeaders changes that', async (t) => {
  const alone = {
    'Set-Cookie': ['a=1', 'b=2'],
    'WWW-Authenticate': 'Basic realm="x"',
    'Authentication-Info': 'x=1',
    'Proxy-Authenticate': 'Basic',
    'Access-Control-Allow-Origin': 'https://a.test',
    'Access-Control-Expose-Headers': 'X-Shared',
  }
  const { gateway } = await behind(t, {
    handler: (_request, response) => {
      response.writeHead(200, { ...alone, Vary: 'Origin', 'X-Shared': '1', 'X-Request-Id': 'r1' }).end('x')
    },
    rules: `
  - name: plain
    match: { path: /plain }
    fingerprint: { key: header.idempotency-key }
  - name: changed
    match: { path: /changed }
    fingerprint: { key: header.idempotency-key }
    replayHeaders: { add: [Set-Cookie], drop: [x-request-id] }
`,
  })
  const ask = (path: string, origin: string) => send(`${gateway.url}${path}`, { headers: key('k', { origin }) })
  const first = await ask('/plain', 'https://a.test')
  t.same(lines(first, 'set-cookie'), ['a=1', 'b=2'])
  for (const name of Object.keys(alone)) t.ok(first.headers[name.toLowerCase()], `${name} reaches the first client`)
  const replay = await ask('/plain', 'https://b.test')
  for (const name of Object.keys(alone)) t.notOk(replay.headers[name.toLowerCase()], `${name} is not replayed`)
  t.notMatch(replay.rawHeaders.join('\n'), 'a.test')
  t.match(replay.headers, { vary: 'Origin', 'x-shared': '1', 'x-request-id': 'r1' })
  await ask('/changed', 'https://a.test')
  const changed = await ask('/changed', 'https://b.test')
  t.same(lines(changed, 'set-cookie'), ['a=1', 'b=2'])
  t.notOk(changed.headers['x-request-id'])
})

t.test('the gateway’s own headers are its own: whoever else sends them is not believed', async (t) => {
  const own = {
    'Idempotency-Replayed': 'true',
    'Idempotency-Fingerprint': 'forged',
    'Oncegate-Error': 'forged',
    'Idempotency-Unguarded': 'true',
    'Idempotency-Execution': 'forged',
    'Idempotency-Attempt': '99',
  }
  const { gateway, upstream } = await behind(t, {
    handler: (_request, response) => void response.writeHead(200, own).end('x'),
  })
  const ask = () => send(`${gateway.url}/x`, { headers: key('k', own) })
  const first = await ask()
  for (const name of Object.keys(own)) t.notMatch(lines(first, name), ['forged'])
  t.same(lines(first, 'idempotency-replayed'), [])
  t.same(lines(first, 'idempotency-fingerprint').length, 1)
  for (const name of ['oncegate-error', 'idempotency-unguarded', 'idempotency-execution', 'idempotency-attempt']) {
    t.notOk(first.headers[name], `${name} of the upstream is dropped`)
  }
  const replay = await ask()
  t.same(lines(replay, 'idempotency-replayed'), ['true'])
  t.same(lines(replay, 'idempotency-fingerprint').length, 1)
  const seen = upstream.received[0]!.headers
  t.match(seen, { 'idempotency-attempt': '1', 'idempotency-execution': /^[0-9a-f-]{36}$/ })
  t.equal(seen['idempotency-fingerprint'], first.headers['idempotency-fingerprint'])
  for (const name of ['idempotency-replayed', 'oncegate-error', 'idempotency-unguarded']) t.notOk(seen[name])

  const passed = await send(`${gateway.url}/x`, { method: 'GET', headers: own })
  for (const name of Object.keys(own)) t.notOk(passed.headers[name.toLowerCase()], `${name} on a route without a guard`)
})

t.test('an HTTP/1.0 upstream that ends its answer by closing is exact too', async (t) => {
  const { gateway, upstream } = await behindRaw(t, (socket) => {
    socket.write('HTTP/1.0 200 OK\r\nX-Old: 1\r\n\r\n')
    socket.write(BINARY)
    socket.end(Buffer.from('the end'))
  })
  const whole = Buffer.concat([BINARY, Buffer.from('the end')])
  const first = await send(`${gateway.url}/x`, { headers: key('k') })
  t.ok(first.body.equals(whole))
  t.ok(first.whole)
  const replay = await send(`${gateway.url}/x`, { headers: key('k') })
  t.ok(replay.body.equals(whole))
  t.equal(replay.headers['x-old'], '1')
  t.equal(upstream.count(), 1)
})

t.test('204, 205 and 304 end with their head, whatever their headers say', async (t) => {
  const heads = {
    '/304': 'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\nContent-Length: 5\r\n\r\n',
    '/204': 'HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\nX-A: 1\r\n\r\n',
    '/204-length': 'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n',
  }
  const { gateway, upstream } = await behindRaw(t, (socket, request) => {
    socket.write(heads[/ (\S+) /.exec(request)![1] as keyof typeof heads])
  })
  for (const path of Object.keys(heads)) {
    const status = Number(path.slice(1, 4))
    for (const [method, headers] of [
      ['POST', key(path)],
      ['POST', key(path)],
      ['GET', {}],
    ] as const) {
      const answer = await send(`${gateway.url}${path}`, { method, headers, timeout: 2000 })
      t.equal(answer.status, status, `${method} ${path}`)
      t.ok(answer.whole)
      t.equal(answer.body.length, 0)
    }
  }
  t.equal(upstream.count(), 6, 'three executions and three GETs')
})

t.test('interim answers are not the answer: the first final status decides', async (t) => {
  const answers = ['HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\nno', 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes']
  const { gateway, upstream } = await behindRaw(t, (socket, _request, n) => {
    socket.write('HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nX-Interim: 1\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n')
    socket.write(answers[n - 1] ?? answers[1]!)
  })
  const ask = () => send(`${gateway.url}/x`, { headers: key('k') })
  t.match(await ask(), { status: 503, text: 'no' })
  const second = await ask()
  t.match(second, { status: 200, text: 'yes' })
  t.notOk(second.headers['x-interim'])
  t.notOk(second.headers.link)
  t.equal((await ask()).headers['idempotency-replayed'], 'true')
  t.equal(upstream.count(), 2)
  t.match(await send(`${gateway.url}/x`, { method: 'GET' }), { status: 200, text: 'yes' }, 'and on a route without a guard')
})

t.test('trailers do not come, and are not announced, for the first client as for the replay', async (t) => {
  const { gateway } = await behind(t, {
    handler: (_request, response) => {
      response.writeHead(200, { Trailer: 'X-Sum' })
      response.write('x')
      response.addTrailers({ 'X-Sum': '1' })
      response.end()
    },
  })
  for (const _ of ['first', 'replay']) {
    const answer = await send(`${gateway.url}/x`, { headers: key('k') })
    t.equal(answer.text, 'x')
    t.notOk(answer.headers.trailer)
    t.notOk(answer.headers['x-sum'])
  }
})

t.test('what the gateway makes has a length of its own, and the connection serves on', async (t) => {
  let hold: Promise<void> | undefined
  let release = () => {}
  const { gateway, upstream } = await behind(t, {
    handler: async (request, response) => {
      if (request.url === '/slow') await hold
      json(response, 200, { much: 'x'.repeat(10_000) })
    },
  })
  hold = new Promise((resolve) => (release = resolve))
  const post = (path: string, body: string) =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: a\r\nIdempotency-Key: k\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  const slow = await Conversation.open(gateway.port, post('/slow', '{}'))
  await upstream.arrived(1)
  const talk = await Conversation.open(gateway.port)
  t.teardown(() => [slow, talk].forEach((one) => one.close()))
  const statuses: number[] = []
  for (const [path, body] of [
    ['/slow', '{}'],
    ['/slow', '{"other":1}'],
    ['/x', '{}'],
    ['/x', '{}'],
    ['/x', '[]'],
    ['/x', '{}'],
  ] as const) {
    talk.write(post(path, body))
    const answer = await talk.answer()
    statuses.push(answer.status)
    t.equal(JSON.parse(answer.body).status ?? 200, answer.status, 'the length is that of the whole JSON document')
    t.equal(talk.received, '', 'and nothing is left over')
  }
  t.same(statuses, [425, 422, 200, 200, 422, 200])
  release()
  t.equal((await slow.answer()).status, 200)
})

t.test('HEAD is never guarded, keeps its length and has no body', async (t) => {
  const { gateway, upstream } = await behind(t, {
    handler: (_request, response) => void response.writeHead(200, { 'Content-Length': 1234, 'X-M': ['1', '2'] }).end(),
  })
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  for (let n = 1; n <= 2; n++) {
    const answer = await send(`${gateway.url}/x`, { method: 'HEAD', headers: key('k'), agent })
    t.match(answer, { status: 200, headers: { 'content-length': '1234' }, whole: true })
    t.same(lines(answer, 'x-m'), ['1', '2'])
    t.notOk(answer.headers['idempotency-fingerprint'])
    t.equal(upstream.count(), n)
  }
})
