// A slow or vanished client slows neither the recording nor anybody else, and nothing is kept in memory for it.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import net from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { behind, key } from '../helpers/behind.ts'
import { send } from '../helpers/client.ts'
import { gatewayProcess } from '../helpers/gateway-process.ts'
import { type Handler, json, startUpstream } from '../helpers/upstream.ts'
import { until, within } from '../helpers/until.ts'

const rules = (more = '') => `
  - name: attach
    match: { path: /* }
    fingerprint: { key: header.idempotency-key }
    inFlight: { answer: attach }
    ${more}
`

/** Writes so many bytes at the pace at which they are taken. */
function stream(bytes: number, chunkOf: (n: number) => Buffer, more: { pauseMs?: number } = {}): Handler {
  return async (_request, response) => {
    const gone = once(response, 'close')
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    for (let written = 0, n = 0; written < bytes && !response.destroyed; n++) {
      const chunk = chunkOf(n)
      written += chunk.length
      if (more.pauseMs !== undefined) await pause(more.pauseMs)
      if (!response.write(chunk)) await Promise.race([once(response, 'drain'), gone])
    }
    response.end()
  }
}

/** A client that sends its request and then reads nothing, until it is told to. */
function lazy(port: number, name: string): Promise<{ socket: net.Socket; closed: Promise<void>; destroy: () => void }> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1', () => {
      socket.pause()
      socket.write(`POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\r\nIdempotency-Key: ${name}\r\nContent-Length: 0\r\n\r\n`)
      resolve({ socket, closed: new Promise((done) => socket.on('close', () => done())), destroy: () => socket.destroy() })
    })
    socket.on('error', () => {})
  })
}

/** By how many MiB the process grows at most meanwhile. */
async function grownMemory(pid: number, during: () => Promise<unknown>): Promise<number> {
  const resident = (): number => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
  const before = resident()
  let most = before
  const timer = setInterval(() => (most = Math.max(most, resident())), 20)
  await during()
  clearInterval(timer)
  return most - before
}

/** A gateway in a process of its own, warm. */
async function alone(t: Test, handler: Handler, more?: string) {
  const upstream = await startUpstream((_request, response) => json(response, 200, {}))
  const gateway = await gatewayProcess({ upstream: upstream.url, store: '"memory:"', rules: rules(more) })
  t.teardown(async () => {
    await Promise.all([gateway.kill(), upstream.close()])
  })
  for (let n = 0; n < 50; n++) await send(gateway.url, { headers: key(`warm-${n}`) })
  upstream.handle(handler)
  return { gateway, port: Number(new URL(gateway.url).port), runs: () => upstream.count() - 50, arrived: () => upstream.arrived(51) }
}

t.test('300 MB through a guarded route: whole for the first client, in bounded memory, and never run again', async (t) => {
  const chunk = Buffer.alloc(65_536, 'x')
  const { gateway, port, runs } = await alone(
    t,
    stream(300_000_000, () => chunk),
  )
  let bytes = 0
  const grown = await grownMemory(gateway.pid, async () => {
    const { status, whole } = await countingGet(port, 'k', (length) => (bytes += length))
    t.same({ status, whole }, { status: 200, whole: true })
  })
  t.ok(bytes >= 300_000_000)
  t.ok(grown < 64, `memory grew by ${grown.toFixed(0)} MiB`)
  const again = await send(gateway.url, { headers: key('k') })
  t.match(again, { status: 409, headers: { 'oncegate-error': 'result-not-stored' } })
  t.equal(runs(), 1)
})

t.test('over maxResult: of two who joined the fast one has all, the stalled one is cut off', async (t) => {
  const chunk = Buffer.alloc(65_536, 'x')
  const { gateway, port, runs, arrived } = await alone(
    t,
    stream(100_000_000, () => chunk, { pauseMs: 1 }),
    'maxResult: 1MiB',
  )
  let bytes = 0
  const grown = await grownMemory(gateway.pid, async () => {
    const first = countingGet(port, 'k', (length) => (bytes += length))
    await arrived()
    const stalled = await lazy(port, 'k')
    t.match(await first, { status: 200, whole: true })
    stalled.socket.resume()
    await within('the stalled client is cut off', stalled.closed)
  })
  t.ok(bytes >= 100_000_000)
  t.ok(grown < 64, `memory grew by ${grown.toFixed(0)} MiB`)
  t.equal(runs(), 1)
})

t.test('within maxResult: a first client that reads nothing holds up neither the recording nor whoever joins', async (t) => {
  const line = (n: number) => Buffer.from(`data: ${String(n).padStart(8, '0')} ${'x'.repeat(1000)}\n\n`)
  const handler = stream(6_000_000, line)
  const { gateway, upstream } = await behind(t, { rules: rules(), handler })
  const first = await lazy(gateway.port, 'k')
  t.teardown(first.destroy)
  await upstream.arrived(1)
  const joined = await send(gateway.url, { headers: key('k') })
  t.ok(joined.whole)
  t.equal(joined.text, Array.from({ length: Math.ceil(6_000_000 / line(0).length) }, (_, n) => line(n).toString()).join(''))
  t.match(await send(gateway.url, { headers: key('k') }), { whole: true, headers: { 'idempotency-replayed': 'true' } })
  t.equal(upstream.count(), 1)
})

t.test('a client that reads slowly, then fast, gets every byte once, from the store and live', async (t) => {
  const line = (n: number) => Buffer.from(`data: ${n}\n\n`.padStart(100, ' '))
  const { gateway } = await behind(t, { rules: rules(), handler: stream(5_000_000, line) })
  const client = await lazy(gateway.port, 'k')
  const hash = createHash('sha256')
  let bytes = 0
  let text = ''
  client.socket.on('data', (chunk) => {
    bytes += chunk.length
    text += chunk.toString('latin1')
    if (bytes < 200_000) {
      client.socket.pause()
      setTimeout(() => client.socket.resume(), 5)
    }
  })
  client.socket.resume()
  await until('all has come', () => text.endsWith('0\r\n\r\n'), 15_000)
  client.destroy()
  const body = dechunked(text)
  const right = Array.from({ length: 50_000 }, (_, n) => line(n).toString()).join('')
  t.equal(hash.update(body).digest('hex'), createHash('sha256').update(right).digest('hex'))
})

t.test('a joined client that accepts no coding gets the events decoded as they come', async (t) => {
  const events = ['data: one\n\n', 'data: two\n\n']
  const { gateway, upstream } = await behind(t, {
    rules: rules(),
    handler: async (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Content-Encoding': 'gzip' })
      response.write(gzipSync(events[0]!))
      await pause(100)
      response.end(gzipSync(events[1]!))
    },
  })
  const first = send(gateway.url, { headers: key('k', { 'accept-encoding': 'gzip' }) })
  await upstream.arrived(1)
  const [coded, plain] = await Promise.all([first, send(gateway.url, { headers: key('k') })])
  t.match(coded, { whole: true, headers: { 'content-encoding': 'gzip' } })
  t.match(plain, { whole: true, text: events.join('') })
  t.equal(plain.headers['content-encoding'], undefined)
  t.equal(upstream.count(), 1)
})

function countingGet(port: number, name: string, onBytes: (length: number) => void): Promise<{ status: number; whole: boolean }> {
  return new Promise((resolve, reject) => {
    let status = 0
    let tail = ''
    const socket = net.connect(port, '127.0.0.1', () => {
      socket.write(`POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\r\nIdempotency-Key: ${name}\r\nContent-Length: 0\r\n\r\n`)
    })
    socket.setTimeout(20_000, () => socket.destroy(new Error('nothing came for too long')))
    socket.on('data', (chunk) => {
      if (status === 0) status = Number(chunk.toString('latin1', 9, 12))
      onBytes(chunk.length)
      tail = (tail + chunk.toString('latin1', Math.max(0, chunk.length - 5))).slice(-5)
      if (tail === '0\r\n\r\n') socket.end()
    })
    socket.on('error', reject)
    socket.on('close', () => resolve({ status, whole: tail === '0\r\n\r\n' }))
  })
}

function dechunked(text: string): string {
  let rest = text.slice(text.indexOf('\r\n\r\n') + 4)
  let body = ''
  for (;;) {
    const end = rest.indexOf('\r\n')
    const length = Number.parseInt(rest.slice(0, end), 16)
    if (!(length > 0)) return body
    body += rest.slice(end + 2, end + 2 + length)
    rest = rest.slice(end + 4 + length)
  }
}
