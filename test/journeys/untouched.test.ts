// What no rule guards passes as if there were no gateway.
import http from 'node:http'
import t from 'tap'
import { behind, behindRaw } from '../helpers/behind.ts'
import { lines, send } from '../helpers/client.ts'
import { Conversation } from '../helpers/conversation.ts'
import { within } from '../helpers/until.ts'

const RULES = `
  - name: pay
    match: { path: /v1/pay }
    fingerprint: { key: header.idempotency-key }
`

t.test('path and query reach the upstream in the very bytes of the request', async (t) => {
  const { gateway, upstream } = await behind(t, { rules: RULES })
  const targets = [
    '/',
    '/?',
    '/a/../b',
    '/a/./b/',
    '/%2e%2e/x',
    '/%2E',
    '//x',
    '//evil.test/x',
    '/a//b///',
    '/a%2Fb',
    '/%zz',
    '/%',
    '/caf%C3%A9',
    '/x?a=1&a=2&&b',
    '/x?q=%20+%2B&r[]=1',
    '/x?y=a/../b?c',
    "/x;p=1,2:3@!$&'()*+~",
    '/x?u=http://other.test/',
    '/status',
    '/statuses/x',
    '/{x}|"<>^`',
    `/${'long'.repeat(1000)}`,
  ]
  const talk = await Conversation.open(gateway.port)
  t.teardown(() => talk.close())
  for (const target of targets) {
    talk.write(Buffer.from(`GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`, 'latin1'))
    t.equal((await talk.answer()).status, 200, target.slice(0, 50))
    t.equal(upstream.received.at(-1)!.url, target)
  }
})

t.test('response header lines come in their order and number, also of an answer without a length', async (t) => {
  const sent = ['X-B', '1', 'Set-Cookie', 'a=1', 'x-b', '2', 'Set-Cookie', 'b=2, c', 'X-Latin', 'caf\xe9', 'X-Empty', '', 'Server', 'x/1']
  const { gateway } = await behind(t, {
    rules: RULES,
    handler: (request, response) => {
      response.sendDate = false
      response.writeHead(200, [...sent, ...(request.url === '/length' ? ['Content-Length', '2'] : [])])
      response.end(Buffer.from('ok'))
    },
  })
  for (const path of ['/length', '/chunked']) {
    const answer = await send(`${gateway.url}${path}`, { method: 'GET' })
    t.same(answer.rawHeaders.slice(0, sent.length), sent, path)
    t.notOk(answer.headers['idempotency-fingerprint'])
    t.equal(answer.headers['content-length'], path === '/length' ? '2' : undefined)
    t.same(lines(answer, 'date').length, 1, 'RFC 9110 6.6.1: a missing date is added')
  }
})

t.test('what looks like a guarded path gets its rule or a 400, never a way around', async (t) => {
  const { gateway, upstream } = await behind(t, { rules: RULES })
  const ask = async (path: string) => {
    const body = '{}'
    const talk = await Conversation.open(
      gateway.port,
      `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: a\r\nIdempotency-Key: k\r\nContent-Length: 2\r\n\r\n${body}`,
    )
    t.teardown(() => talk.close())
    return talk.answer()
  }
  for (const path of ['/v1/pay', '//v1/pay', '/v1/%70ay', '/v1/x/../pay', '/v1/x/..%2fpay', '/v1\\pay', '/v1/./pay', 'http://x/v1/pay']) {
    const { status, head } = await ask(path)
    const guarded = status === 200 && /idempotency-fingerprint/i.test(head)
    t.ok(guarded || status === 400, `${path}: ${status}`)
  }
  t.ok(upstream.count() > 0)
})

t.test('an upstream that breaks in mid-answer breaks the client too', async (t) => {
  const heads = {
    '/length': 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabcde',
    '/chunked': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n',
  }
  const { gateway, upstream } = await behindRaw(
    t,
    (socket, request) => {
      const text = heads[/ (\S+) /.exec(request)![1] as keyof typeof heads]
      socket.write(text, () => setTimeout(() => socket.resetAndDestroy(), 50))
    },
    { rules: RULES },
  )
  for (const path of Object.keys(heads)) {
    const answer = await send(`${gateway.url}${path}`, { method: 'GET' }).catch((error: NodeJS.ErrnoException) => error)
    if (answer instanceof Error) t.equal((answer as NodeJS.ErrnoException).code, 'ECONNRESET', path)
    else t.notOk(answer.whole, path)
  }
  t.equal(upstream.count(), 2)
})

t.test('connections are kept and shared: many requests on one, many at once', async (t) => {
  const { gateway, upstream } = await behind(t, { rules: RULES })
  const sockets = new Set<number | undefined>()
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  for (let n = 0; n < 20; n++) {
    await send(`${gateway.url}/x`, { method: 'GET', agent, onHead: (response) => sockets.add(response.socket.localPort) })
  }
  t.equal(sockets.size, 1)
  const all = await within(
    'a hundred at once',
    Promise.all(Array.from({ length: 100 }, (_, n) => send(`${gateway.url}/${n}`, { method: 'GET' }))),
  )
  t.ok(all.every((answer) => answer.status === 200))
  t.equal(upstream.count(), 120)
})

t.test('an HTTP/1.0 client gets an answer that it understands', async (t) => {
  const { gateway } = await behind(t, {
    rules: RULES,
    handler: (_request, response) => {
      response.write('a')
      response.end('b')
    },
  })
  const talk = await Conversation.open(gateway.port, 'GET / HTTP/1.0\r\n\r\n')
  await talk.hears(/\r\n\r\nab$/)
  t.notMatch(talk.received, /transfer-encoding/i)
})
