// WebSocket upgrades pass through.
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import t from 'tap'
import { WebSocket } from 'undici'
import { behind } from '../helpers/behind.ts'
import { send } from '../helpers/client.ts'
import { Conversation } from '../helpers/conversation.ts'
import type { TestUpstream } from '../helpers/upstream.ts'
import { until, within } from '../helpers/until.ts'

const MAGIC = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/** Accepts every upgrade but those of /refused, and sends each small message back, text as text. */
function echo(upstream: TestUpstream): { upgrades: IncomingMessage[]; sockets: Socket[] } {
  const seen = { upgrades: [] as IncomingMessage[], sockets: [] as Socket[] }
  upstream.server.on('upgrade', (request: IncomingMessage, socket: Socket) => {
    seen.upgrades.push(request)
    seen.sockets.push(socket)
    socket.on('error', () => {})
    if (request.url === '/refused') return void socket.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n')
    const accept = createHash('sha1')
      .update(String(request.headers['sec-websocket-key']) + MAGIC)
      .digest('base64')
    const protocol = request.headers['sec-websocket-protocol']
    const chosen = protocol === undefined ? '' : `Sec-WebSocket-Protocol: ${protocol.split(',')[0]!.trim()}\r\n`
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n${chosen}\r\n`,
    )
    socket.on('data', (frame: Buffer) => sendBack(socket, frame))
  })
  return seen
}

/** RFC 6455 5.2, for whole frames of fewer than 126 bytes. */
function sendBack(socket: Socket, frame: Buffer): void {
  const length = frame[1]! & 0x7f
  const mask = frame.subarray(2, 6)
  const payload = frame.subarray(6, 6 + length).map((byte, i) => byte ^ mask[i % 4]!)
  socket.write(Buffer.concat([Buffer.from([frame[0]!, length]), payload]))
  // RFC 6455 7.1.1: after the close frame the server ends the connection.
  if ((frame[0]! & 0x0f) === 8) socket.end()
}

function nextMessage(socket: WebSocket): Promise<string | ArrayBuffer> {
  return within(
    'a message',
    new Promise((resolve) => socket.addEventListener('message', (event) => resolve(event.data as string | ArrayBuffer), { once: true })),
  )
}

function closed(socket: WebSocket): Promise<{ code: number }> {
  return within('the close', new Promise((resolve) => socket.addEventListener('close', resolve, { once: true })))
}

const address = (url: string, path: string) => `${url.replace('http', 'ws')}${path}`

t.test('messages, query, headers and subprotocol pass both ways', async (t) => {
  const { gateway, upstream } = await behind(t)
  const seen = echo(upstream)
  const socket = new WebSocket(address(gateway.url, '/chat/x?room=a%20b&x=1'), {
    protocols: ['v2.chat', 'v1.chat'],
    headers: { authorization: 'Bearer a', cookie: 'a=1; b=2', 'x-mine': 'yes', 'idempotency-fingerprint': 'forged' },
  })
  socket.binaryType = 'arraybuffer'
  await within('the upgrade', new Promise((resolve) => socket.addEventListener('open', resolve, { once: true })))
  t.equal(socket.protocol, 'v2.chat')
  for (const text of ['hello', 'café', '']) {
    socket.send(text)
    t.equal(await nextMessage(socket), text)
  }
  socket.send(new Uint8Array([0, 255, 10, 13]))
  t.same(Buffer.from((await nextMessage(socket)) as ArrayBuffer), Buffer.from([0, 255, 10, 13]))
  const request = seen.upgrades[0]!
  t.equal(request.url, '/chat/x?room=a%20b&x=1')
  t.match(request.headers, { authorization: 'Bearer a', cookie: 'a=1; b=2', 'x-mine': 'yes', 'sec-websocket-protocol': 'v2.chat' })
  t.notOk(request.headers['idempotency-fingerprint'])
  t.equal(request.headers.host, new URL(upstream.url).host)

  const end = closed(socket)
  socket.close(4001, 'bye')
  await end
  await until('the upstream’s side is closed too', () => seen.sockets[0]!.destroyed || seen.sockets[0]!.readableEnded)
})

t.test('a client that leaves and an upstream that breaks off both end the other side', async (t) => {
  const { gateway, upstream } = await behind(t)
  const seen = echo(upstream)
  const open = async () => {
    const socket = new WebSocket(address(gateway.url, '/x'))
    await within('the upgrade', new Promise((resolve) => socket.addEventListener('open', resolve, { once: true })))
    socket.send('hi')
    await nextMessage(socket)
    return socket
  }
  const first = await open()
  const end = closed(first)
  seen.sockets[0]!.destroy()
  t.not((await end).code, 1000, 'not as if it were a normal close')

  const head = 'GET /x HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\n'
  const talk = await Conversation.open(gateway.port, `${head}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`)
  await talk.hears(/^HTTP\/1\.1 101 /)
  await until('the upstream has its side', () => seen.sockets.length === 2)
  const gone = within('the upstream’s side ends', new Promise<void>((resolve) => seen.sockets[1]!.once('close', () => resolve())))
  seen.sockets[1]!.on('end', () => seen.sockets[1]!.end())
  talk.close()
  await gone
  t.pass()
})

t.test('an upgrade that the upstream refuses ends with an error, and the gateway serves on', async (t) => {
  const { gateway, upstream } = await behind(t)
  const seen = echo(upstream)
  const socket = new WebSocket(address(gateway.url, '/refused'))
  t.not((await closed(socket)).code, 1000)
  t.equal(seen.upgrades.length, 1, 'it is not tried again')
  t.equal((await send(gateway.url, { method: 'GET' })).status, 200)
})

t.test('paths that the tunnel does not take, and bad handshakes, end; the gateway serves on', async (t) => {
  const { gateway, upstream } = await behind(t)
  const seen = echo(upstream)
  const offer = 'Host: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'
  const withKey = `${offer}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`
  for (const bytes of [
    `GET /a/../b HTTP/1.1\r\n${withKey}`,
    `GET /%zz HTTP/1.1\r\n${withKey}`,
    `GET //other.test/x HTTP/1.1\r\n${withKey}`,
    `GET /x HTTP/1.1\r\n${offer}\r\n`,
  ]) {
    const talk = await Conversation.open(gateway.port, bytes)
    await until(`an end of ${bytes.slice(0, 30)}`, () => talk.closed !== 'no')
  }
  t.equal(seen.upgrades.length, 0)
  t.equal((await send(gateway.url, { method: 'GET' })).status, 200)
})

t.test('the headers of an upgrade do not take a guarded POST past its rule', async (t) => {
  const { gateway, upstream } = await behind(t)
  echo(upstream)
  const talk = await Conversation.open(gateway.port)
  t.teardown(() => talk.close())
  for (const n of [1, 2]) {
    talk.write(
      'POST /pay HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: a\r\nIdempotency-Key: k\r\nContent-Length: 2\r\n\r\n{}',
    )
    const { status, head } = await talk.answer()
    t.equal(status, 200)
    t.match(head, /idempotency-fingerprint/i, `try ${n}`)
  }
  t.equal(upstream.count(), 1)
})
