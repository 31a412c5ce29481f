// What a rule can ask of its event streams: an end that must come, ids, signs of life, and a last word when they break off.
import t from 'tap'
import { behind, key } from '../helpers/behind.ts'
import { send } from '../helpers/client.ts'
import { type Handler, latch } from '../helpers/upstream.ts'
import { until } from '../helpers/until.ts'

const rules = (settings: string) => `
  - name: stream
    match: { path: /* }
    fingerprint: { key: header.idempotency-key }
    inFlight: { answer: attach }
    ${settings}
`

/** Sends the first events, and the others when it is let; then it ends, or breaks off. */
function events(
  first: string,
  then: string,
  more: { door?: Promise<void>; breaks?: boolean; status?: number; type?: string } = {},
): Handler {
  return async (_request, response) => {
    response.writeHead(more.status ?? 200, { 'Content-Type': more.type ?? 'text/event-stream' })
    response.write(first)
    await more.door
    if (more.breaks === true) {
      if (then !== '') response.write(then)
      setTimeout(() => response.destroy(), 20)
    } else response.end(then)
  }
}

t.test('completeOn: a stream that ends cleanly without its last event is broken for everybody, and its outcome unknown', async (t) => {
  const door = latch()
  const { gateway, upstream } = await behind(t, {
    rules: rules("completeOn: '[DONE]'"),
    handler: events('data: one\n\n', 'data: two\n\n', { door: door.opened }),
  })
  const first = send(gateway.url, { headers: key('k') })
  await upstream.arrived(1)
  const joined = send(gateway.url, { headers: key('k') })
  await until('both have begun', async () => (await send(gateway.url, { headers: { ...key('k'), prefer: 'wait=0' } })).status === 425)
  door.open()
  for (const answer of await Promise.all([first, joined])) t.match(answer, { status: 200, whole: false })
  t.match(await send(gateway.url, { headers: key('k') }), { status: 409, headers: { 'oncegate-error': 'outcome-unknown' } })
  t.equal(upstream.count(), 1)
})

t.test('completeOn: with its last event it is a result; a JSON answer of the same route needs none', async (t) => {
  const { gateway, upstream } = await behind(t, {
    rules: rules("completeOn: '[DONE]'"),
    handler: events('data: one\n\n', 'data: [DONE]\n\n'),
  })
  for (const replayed of [undefined, 'true']) {
    const answer = await send(gateway.url, { headers: key('k') })
    t.match(answer, { text: 'data: one\n\ndata: [DONE]\n\n', whole: true })
    t.equal(answer.headers['idempotency-replayed'], replayed)
  }
  upstream.handle(events('{', '}', { type: 'application/json' }))
  t.match(await send(gateway.url, { headers: key('json') }), { text: '{}', whole: true })
  t.match(await send(gateway.url, { headers: key('json') }), { text: '{}', headers: { 'idempotency-replayed': 'true' } })
  t.equal(upstream.count(), 2)
})

t.test('completeOn: of several ends any will do, and no other', async (t) => {
  const { gateway, upstream } = await behind(t, {
    rules: rules('completeOn: [response.completed, response.failed]'),
    handler: (request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      response.end(`event: begun\ndata: {}\n\nevent: ${String(request.headers['x-end'])}\ndata: {}\n\n`)
    },
  })
  for (const end of ['response.completed', 'response.failed', 'response.delta']) {
    const answer = await send(gateway.url, { headers: key(end, { 'x-end': end }) })
    t.equal(answer.whole, end !== 'response.delta', end)
  }
  t.equal(upstream.count(), 3)
})

t.test(
  'streamIds: each event has an id, the same for the first client, whoever joins, and the replay; and a client goes on after one',
  async (t) => {
    const door = latch()
    const { gateway, upstream } = await behind(t, {
      rules: rules('streamIds: true'),
      handler: events('data: 1\n\ndata: 2\n\n', 'id: own\ndata: 3\n\ndata: 4\n\n', { door: door.opened }),
    })
    const seen = ['', '']
    const first = send(gateway.url, { headers: key('k'), onData: (chunk) => (seen[0] += chunk.toString()) })
    await until('the first events', () => seen[0]!.includes('data: 2'))
    const joined = send(gateway.url, { headers: key('k'), onData: (chunk) => (seen[1] += chunk.toString()) })
    await until('they have come to who joined', () => seen[1]!.includes('data: 2'))
    const second = /id: (\S+-2)\n/.exec(seen[0]!)?.[1] ?? ''
    const resumed = send(gateway.url, { headers: key('k', { 'last-event-id': second }) })
    door.open()
    const whole = (await first).text
    t.match(whole, /^id: \S+-0\nretry: 1000\ndata: 1\nid: \S+-1\n\ndata: 2\nid: \S+-2\n\nid: own\ndata: 3\n\ndata: 4\nid: \S+-4\n\n$/)
    t.equal((await joined).text, whole)
    t.equal((await send(gateway.url, { headers: key('k') })).text, whole)
    const rest = whole.slice(whole.indexOf('id: own'))
    t.equal((await resumed).text, rest)
    t.equal((await send(gateway.url, { headers: key('k', { 'last-event-id': second }) })).text, rest)
    t.equal(
      (await send(gateway.url, { headers: key('k', { 'last-event-id': second.replace(/\../, '.f') }) })).text,
      whole,
      'of another execution',
    )
    t.equal(upstream.count(), 1)
  },
)

t.test('streamError: event tells why, in the words of the rule, before the connection breaks', async (t) => {
  const door = latch()
  const { gateway, upstream } = await behind(t, {
    rules: rules('streamError: event\n    errors: anthropic'),
    handler: events('data: one\n\n', '', { door: door.opened, breaks: true }),
  })
  const first = send(gateway.url, { headers: key('k') })
  await upstream.arrived(1)
  const joined = send(gateway.url, { headers: key('k') })
  setTimeout(door.open, 50)
  for (const answer of await Promise.all([first, joined])) {
    t.match(answer, { whole: false, text: /^data: one\n\nevent: error\ndata: \{.*"type":"error".*\}\n\n$/ })
  }
  t.equal(upstream.count(), 1)
})

t.test('streamError: within an event nothing is said, it is only broken off', async (t) => {
  const { gateway } = await behind(t, {
    rules: rules('streamError: event'),
    handler: events('data: one\n\n', 'data: ha', { breaks: true }),
  })
  t.match(await send(gateway.url, { headers: key('k') }), { whole: false, text: 'data: one\n\ndata: ha' })
})

t.test('heartbeat: a silent stream shows that it lives, between its events alone', async (t) => {
  const doors = [latch(), latch()]
  const { gateway } = await behind(t, {
    rules: rules('heartbeat: 20ms'),
    handler: async (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      response.write('data: one\n\n')
      await doors[0]!.opened
      response.write('data: tw')
      await doors[1]!.opened
      response.end('o\n\n')
    },
  })
  let text = ''
  const streamed = send(gateway.url, { headers: key('k'), onData: (chunk) => (text += chunk.toString()) })
  await until('two signs of life', () => text.startsWith('data: one\n\n: hb\n: hb\n'))
  doors[0]!.open()
  await until('half an event', () => text.endsWith('data: tw'))
  await new Promise((resolve) => setTimeout(resolve, 100))
  t.ok(text.endsWith('data: tw'), 'nothing within an event')
  doors[1]!.open()
  t.match((await streamed).text, /^data: one\n\n(: hb\n)+data: two\n\n$/)
  t.equal((await send(gateway.url, { headers: key('k') })).text, 'data: one\n\ndata: two\n\n', 'none of it is stored')
})

t.test('streamIds: a client that lost its POST comes back with a GET and the last id, as its owner and as nobody else', async (t) => {
  const door = latch()
  const { gateway, upstream } = await behind(t, {
    rules: rules('streamIds: true'),
    handler: events('data: 1\n\ndata: 2\n\n', 'data: 3\n\n', { door: door.opened }),
  })
  const leaving = new AbortController()
  let seen = ''
  const lost = send(gateway.url, { headers: key('k'), signal: leaving.signal, onData: (chunk) => (seen += chunk.toString()) })
  await until('two events', () => seen.includes('data: 2'))
  const last = /id: (\S+-2)\n/.exec(seen)?.[1] ?? ''
  leaving.abort()
  await t.rejects(lost)
  const back = (authorization: string, id = last) =>
    send(gateway.url, { method: 'GET', headers: { authorization, accept: 'text/event-stream', 'last-event-id': id } })
  const resumed = back('Bearer a')
  t.match(await back('Bearer b'), { status: 404, headers: { 'oncegate-error': 'unknown-fingerprint' } })
  door.open()
  const rest = /^data: 3\nid: \S+-3\n\n$/
  t.match(await resumed, { status: 200, text: rest, whole: true })
  t.match(await back('Bearer a'), { status: 200, text: rest, whole: true })
  t.equal(upstream.count(), 1)
  upstream.handle((_request, response) => void response.end('of the upstream'))
  t.match(await back('Bearer a', 'an-id-of-the-upstream'), { text: 'of the upstream' })
  t.match(
    await back(
      'Bearer a',
      last.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')),
    ),
    { text: 'of the upstream' },
    'never issued here',
  )
})
