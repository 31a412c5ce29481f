// Answers that come bit by bit, or are too large to keep.
import { createHash } from 'node:crypto'
import http from 'node:http'
import t from 'tap'
import { behind, KEYED, key } from '../helpers/behind.ts'
import { send } from '../helpers/client.ts'
import { Conversation } from '../helpers/conversation.ts'
import { json, latch } from '../helpers/upstream.ts'
import { until, within } from '../helpers/until.ts'

const MIB = 1024 * 1024

for (const guarded of [true, false]) {
  t.test(`${guarded ? 'a guarded' : 'an unguarded'} stream passes event by event while the upstream still runs`, async (t) => {
    const doors = [latch(), latch(), latch()]
    const { gateway, upstream } = await behind(t, {
      handler: async (_request, response) => {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders()
        for (const [n, door] of doors.entries()) {
          await door.opened
          response.write(`data: ${n}\n\n`)
        }
        response.end()
      },
    })
    const head = latch()
    let text = ''
    const asked = guarded ? { headers: key('k') } : { method: 'GET' }
    const first = send(gateway.url, { ...asked, onHead: () => head.open(), onData: (chunk) => (text += chunk.toString()) })
    await within('the head comes before the first event', head.opened)
    for (const [n, door] of doors.entries()) {
      t.notMatch(text, `data: ${n}`)
      door.open()
      await until(`event ${n} has come`, () => text.includes(`data: ${n}\n\n`))
    }
    const whole = 'data: 0\n\ndata: 1\n\ndata: 2\n\n'
    t.match(await first, { text: whole, whole: true })
    const again = await send(gateway.url, asked)
    t.equal(again.text, whole)
    t.equal(again.headers['content-type'], 'text/event-stream')
    t.equal(again.headers['idempotency-replayed'], guarded ? 'true' : undefined)
    t.equal(upstream.count(), guarded ? 1 : 2)
  })
}

t.test('the head of a long answer with a length comes at once as well, and its first bytes', async (t) => {
  const door = latch()
  const { gateway } = await behind(t, {
    handler: async (_request, response) => {
      response.writeHead(200, { 'Content-Length': 200_000 })
      response.write(Buffer.alloc(100_000, 'a'))
      await door.opened
      response.end(Buffer.alloc(100_000, 'b'))
    },
  })
  let bytes = 0
  const first = send(gateway.url, { headers: key('k'), onData: (chunk) => (bytes += chunk.length) })
  await until('the first half has come', () => bytes === 100_000)
  door.open()
  t.match(await first, { whole: true, headers: { 'content-length': '200000' } })
})

for (const framing of ['chunked', 'with a length']) {
  t.test(`a result over maxResult (${framing}) reaches the first client whole, and is never executed again`, async (t) => {
    const body = Buffer.alloc(70_000, 'x')
    const { gateway, upstream } = await behind(t, {
      rules: `${KEYED}    maxResult: 64KiB\n`,
      handler: (_request, response) => {
        response.writeHead(201, framing === 'chunked' ? {} : { 'Content-Length': body.length })
        for (let at = 0; at < body.length; at += 10_000) response.write(body.subarray(at, at + 10_000))
        response.end()
      },
    })
    const first = await send(gateway.url, { headers: key('k') })
    t.equal(first.status, 201)
    t.ok(first.whole)
    t.ok(first.body.equals(body))
    const hash = `sha256:${createHash('sha256').update(body).digest('hex')}`
    for (let n = 0; n < 2; n++) {
      const again = await send(gateway.url, { headers: key('k') })
      t.match(again, { status: 409, headers: { 'oncegate-error': 'result-not-stored', 'x-should-retry': 'false' } })
      t.match(again.json(), { http_status: 201, result_hash: hash, retry: 'never' })
    }
    const status = await send(`${gateway.url}/status/${String(first.headers['idempotency-fingerprint'])}`, { method: 'GET' })
    t.match(status.json(), { status: 'completed', http_status: 201, result_hash: hash })
    t.notOk(status.json().result_url)
    t.equal(upstream.count(), 1)
  })
}

t.test('a result of exactly maxResult is stored', async (t) => {
  const { gateway, upstream } = await behind(t, {
    rules: `${KEYED}    maxResult: 64KiB\n`,
    handler: (_request, response) => void response.end(Buffer.alloc(65_536, 'x')),
  })
  await send(gateway.url, { headers: key('k') })
  t.match(await send(gateway.url, { headers: key('k') }), { status: 200, headers: { 'idempotency-replayed': 'true' } })
  t.equal(upstream.count(), 1)
})

for (const guarded of [true, false]) {
  t.test(`a slow client of ${guarded ? 'a guarded' : 'an unguarded'} answer holds the upstream back: memory stays bounded`, async (t) => {
    const total = 96 * MIB
    let written = 0
    let blocked = false
    const { gateway, upstream } = await behind(t, {
      rules: `${KEYED}    maxResult: 1MiB\n`,
      handler: (_request, response) => {
        const chunk = Buffer.alloc(256 * 1024, 'x')
        response.writeHead(200, { 'Content-Length': total })
        const more = () => {
          while (written < total) {
            written += chunk.length
            if (!response.write(chunk)) {
              blocked = true
              response.once('drain', () => {
                blocked = false
                more()
              })
              return
            }
          }
          response.end()
        }
        more()
      },
    })
    const answer = await new Promise<http.IncomingMessage>((resolve, reject) => {
      const request = http.request(
        gateway.url,
        { method: guarded ? 'POST' : 'GET', agent: false, headers: guarded ? key('k') : {} },
        resolve,
      )
      request.on('error', reject).end()
    })
    let before = -1
    await until('the upstream is held back', async () => {
      if (blocked && written === before) return true
      before = written
      await new Promise((resolve) => setTimeout(resolve, 150))
      return false
    })
    t.ok(written < total / 2, `${written / MIB} MiB were taken from the upstream while nobody read`)
    let read = 0
    answer.on('data', (chunk: Buffer) => (read += chunk.length))
    await until('the client gets it whole once it reads', () => answer.complete, 10_000)
    t.equal(read, total)
    if (guarded) {
      const again = await send(gateway.url, { headers: key('k') })
      t.match(again, { status: 409, headers: { 'oncegate-error': 'result-not-stored' } })
      t.equal(upstream.count(), 1)
    }
  })
}

t.test('the client of a guarded stream leaves: the execution runs on, and a retry gets all of it', async (t) => {
  const door = latch()
  const { gateway, upstream } = await behind(t, {
    handler: async (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      response.write('data: 1\n\n')
      await door.opened
      response.end('data: 2\n\n')
    },
  })
  const client = await Conversation.open(
    gateway.port,
    'POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\r\nIdempotency-Key: k\r\nContent-Length: 0\r\n\r\n',
  )
  await client.hears(/data: 1/)
  client.close()
  door.open()
  await until('it is stored', async () => (await send(gateway.url, { headers: key('k') })).status === 200)
  const replay = await send(gateway.url, { headers: key('k') })
  t.equal(replay.text, 'data: 1\n\ndata: 2\n\n')
  t.equal(upstream.count(), 1)
})

t.test('an unguarded request ends at the upstream when its client leaves, before the answer and within it', async (t) => {
  let ended = 0
  const { gateway, upstream } = await behind(t, {
    handler: (request, response) => {
      response.on('close', () => ended++)
      if (request.url === '/within') response.write('some')
    },
  })
  for (const [n, path] of ['/before', '/within'].entries()) {
    const client = await Conversation.open(gateway.port, `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
    await upstream.arrived(n + 1)
    if (path === '/within') await client.hears(/some/)
    client.close()
    await until(`the upstream sees that the client of ${path} has left`, () => ended === n + 1, 1500)
  }
})

t.test('after many clients have left, nothing of them is left', async (t) => {
  const { gateway, upstream } = await behind(t, {
    rules: `${KEYED}    onDisconnect: abort\n`,
    handler: (request, response) => {
      if (request.url === '/last') json(response, 200, {})
    },
  })
  const connections = () => new Promise<number>((resolve) => upstream.server.getConnections((_error, n) => resolve(n)))
  const clients: Conversation[] = []
  for (let n = 0; n < 100; n++) {
    const guard = n % 2 === 0 ? `Authorization: a\r\nIdempotency-Key: k${n}\r\n` : ''
    clients.push(
      await Conversation.open(
        gateway.port,
        `${n % 2 === 0 ? 'POST' : 'GET'} /${n} HTTP/1.1\r\nHost: x\r\n${guard}Content-Length: 0\r\n\r\n`,
      ),
    )
  }
  await within('all requests have arrived', upstream.arrived(100))
  for (const client of clients) client.close()
  await until('the upstream has no connection left', async () => (await connections()) === 0)
  for (const asked of [{ method: 'GET' }, { headers: key('k') }]) {
    t.equal((await send(`${gateway.url}/last`, { ...asked, timeout: 1000 })).status, 200)
  }
})
