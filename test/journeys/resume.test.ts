// A client that lost its stream comes back with Last-Event-ID and gets what it has not seen: no event twice, none left out.
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { key } from '../helpers/behind.ts'
import { type Answer, send } from '../helpers/client.ts'
import { testGateway, type TestGateway } from '../helpers/gateway.ts'
import { SHARED_STORES } from '../helpers/shared-store.ts'
import { type Handler, latch, startUpstream, type TestUpstream } from '../helpers/upstream.ts'
import { until } from '../helpers/until.ts'

const RULES = `
  - name: attach
    match: { path: /* }
    fingerprint: { key: header.idempotency-key }
    inFlight: { answer: attach }
`

interface Scene {
  readonly upstream: TestUpstream
  readonly first: TestGateway
  readonly second: TestGateway
}

async function scene(t: Test, kind: keyof typeof SHARED_STORES, handler: Handler): Promise<Scene> {
  const upstream = await startUpstream(handler)
  const store = await SHARED_STORES[kind]()
  const open = () => testGateway({ rules: RULES, upstream: upstream.url, store: store.url })
  const [first, second] = [await open(), await open()]
  t.teardown(async () => {
    await Promise.all([first.close(), second.close(), upstream.close()])
    await store.remove()
  })
  return { upstream, first, second }
}

/** CRLF, each event in two pieces that are cut within its blank line. */
const EVENTS = Array.from({ length: 10 }, (_, n) => `id: u${n + 1}\r\ndata: event ${n + 1}\r\n\r\n`)

function resumed(gateway: TestGateway, lastEventId: string, onData?: (chunk: Buffer) => void): Promise<Answer> {
  return send(gateway.url, { headers: key('k', { 'Last-Event-ID': lastEventId }), ...(onData && { onData }) })
}

for (const kind of ['redis', 'lmdb'] as const) {
  t.test(`${kind}: while the stream runs, at its own gateway and at another, and after its end`, async (t) => {
    const rest = latch()
    const { upstream, first, second } = await scene(t, kind, async (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders()
      for (const [n, event] of EVENTS.entries()) {
        if (n === 6) await rest.opened
        response.write(event.slice(0, -1))
        response.write(event.slice(-1))
      }
      response.end()
    })
    let seen = ''
    const whole = send(first.url, { headers: key('k'), onData: (chunk) => (seen += chunk.toString()) })
    await until('six events', () => seen === EVENTS.slice(0, 6).join(''))
    const live = ['', '']
    const back = [first, second].map((gateway, n) => resumed(gateway, 'u4', (chunk) => (live[n] += chunk.toString())))
    await until('those after the fourth', () => live.every((text) => text === EVENTS.slice(4, 6).join('')))
    const stranger = resumed(second, '0198c0de-0000-7000-8000-000000000001-4')
    rest.open()
    t.equal((await whole).text, EVENTS.join(''))
    for (const answer of await Promise.all(back)) {
      t.match(answer, { status: 200, whole: true, headers: { 'idempotency-replayed': 'true' } })
      t.equal(answer.text, EVENTS.slice(4).join(''))
    }
    t.equal((await stranger).text, EVENTS.join(''), 'an id of another execution is no place in this one')
    for (const gateway of [first, second]) {
      t.equal((await resumed(gateway, 'u9')).text, EVENTS[9])
      t.match(await resumed(gateway, 'u10'), { status: 200, whole: true, text: '' })
      t.equal((await resumed(gateway, 'u11')).text, EVENTS.join(''))
    }
    t.equal(upstream.count(), 1)
  })
}

t.test('a gateway that is behind waits for the event that the client has seen elsewhere', async (t) => {
  const doors = EVENTS.map(() => latch())
  const { first, second } = await scene(t, 'redis', async (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders()
    for (const [n, event] of EVENTS.entries()) {
      await doors[n]!.opened
      response.write(event)
    }
    response.end()
  })
  let seen = ''
  const whole = send(first.url, { headers: key('k'), onData: (chunk) => (seen += chunk.toString()) })
  doors[0]!.open()
  await until('the first event', () => seen === EVENTS[0])
  const back = resumed(second, 'u2')
  for (const door of doors) door.open()
  t.equal((await back).text, EVENTS.slice(2).join(''))
  t.equal((await whole).text, EVENTS.join(''))
})

t.test('an answer that is no event stream, or an encoded one, starts at its start', async (t) => {
  const coded = gzipSync(EVENTS.join(''))
  const { first } = await scene(t, 'lmdb', (request, response) => {
    if (request.url === '/plain') response.writeHead(200, { 'Content-Type': 'text/plain' }).end(EVENTS.join(''))
    else response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Content-Encoding': 'gzip' }).end(coded)
  })
  for (const path of ['/plain', '/gzip']) {
    const url = `${first.url}${path}`
    await send(url, { headers: key('k') })
    const headers = key('k', { 'Last-Event-ID': 'u1', 'Accept-Encoding': 'gzip' })
    const again = await send(url, { headers })
    t.same(again.body, path === '/plain' ? Buffer.from(EVENTS.join('')) : coded)
    t.match(again.headers, { 'content-length': String(again.body.length), 'idempotency-replayed': 'true' })
  }
})
