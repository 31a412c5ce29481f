// What is put into an event stream leaves every event what it was: ids, heartbeats, and a last word.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { ClientResponse } from '../../src/http/client-response.ts'
import { EventStreamClient, eventStreamSettings, type EventStreamSettings } from '../../src/http/event-stream-client.ts'
import { problem } from '../../src/model/problems.ts'
import { send } from '../helpers/client.ts'
import { receivedEvents } from '../helpers/event-source.ts'
import { bytewise, cutStream } from '../helpers/event-streams.ts'
import { RecordedClient } from '../helpers/recorded-client.ts'
import { until } from '../helpers/until.ts'

const EXECUTION = '0198c0de-0000-7000-8000-000000000001'
const NAMED = `F.${EXECUTION}`
const SSE = ['Content-Type', 'text/event-stream; charset=utf-8']
const ids = { fingerprint: 'F', executionId: EXECUTION, before: 0, prime: true }
const PRIMING = `id: ${NAMED}-0\nretry: 1000\n`
const BROKEN = problem('upstream-broken', 'the connection broke')

function streamTo(settings: EventStreamSettings, headers = SSE): { client: RecordedClient; stream: EventStreamClient } {
  const client = new RecordedClient()
  const stream = new EventStreamClient(client, settings)
  stream.head(200, headers)
  return { client, stream }
}

function sent(settings: EventStreamSettings, pieces: readonly Buffer[]): Buffer {
  const { client, stream } = streamTo(settings)
  for (const piece of pieces) stream.write(piece)
  stream.end()
  return client.bytes
}

t.test('each event gets an id of this execution, and the stream begins with one', async (t) => {
  const text = 'data: a\n\n: quiet\n\nevent: b\ndata: b\n\nid: 7\ndata: own\n\ndata: d\n\ndata: cut off\n'
  const expected = `data: a\nid: ${NAMED}-1\n\n: quiet\n\nevent: b\ndata: b\nid: ${NAMED}-2\n\nid: 7\ndata: own\n\ndata: d\nid: ${NAMED}-4\n\ndata: cut off\n`
  t.equal(sent({ ids }, [Buffer.from(text)]).toString(), PRIMING + expected)
  t.equal(sent({ ids }, bytewise(Buffer.from(text))).toString(), PRIMING + expected)
  t.equal(sent({ ids }, []).toString(), PRIMING)
})

t.test('where JSON-RPC is spoken the beginning is an event with empty data, which is none to the application', async (t) => {
  t.equal(
    sent({ ids: { ...ids, primingEvent: true } }, [Buffer.from('id: 1\ndata: a\n\n')]).toString(),
    `${PRIMING}data:\n\nid: 1\ndata: a\n\n`,
  )
})

t.test('a stream that goes on in the middle counts on, without a new beginning', async (t) => {
  const bytes = sent({ ids: { ...ids, before: 4, prime: false } }, [Buffer.from('data: e\n\n')])
  t.equal(bytes.toString(), `data: e\nid: ${NAMED}-5\n\n`)
})

t.test('an id has the line end of its event', async (t) => {
  for (const end of ['\n', '\r', '\r\n']) {
    const stream = Buffer.from(`data: a${end}${end}`)
    for (const pieces of [[stream], bytewise(stream)]) {
      t.equal(sent({ ids: { ...ids, prime: false } }, pieces).toString(), `data: a${end}id: ${NAMED}-1${end}${end}`)
    }
  }
})

t.test('any stream in any pieces: the same events, each with an id; only ids are added', async () => {
  fc.assert(
    fc.property(cutStream, fc.boolean(), (pieces, prime) => {
      const stream = Buffer.concat(pieces)
      const bytes = sent({ ids: { ...ids, prime } }, pieces)
      assert.deepEqual(bytes, sent({ ids: { ...ids, prime } }, [stream]))
      const before = receivedEvents(stream)
      const after = receivedEvents(bytes)
      assert.deepEqual(
        after.map(({ type, data }) => [type, data]),
        before.map(({ type, data }) => [type, data]),
      )
      for (const [n, { lastEventId }] of after.entries()) {
        assert.ok(lastEventId === `${NAMED}-${n + 1}` || lastEventId === before[n]!.lastEventId)
      }
      const added = new RegExp(`id: ${NAMED}-[1-9]\\d*(?:\\r\\n|\\r|\\n)`, 'g')
      const rest = bytes.toString('latin1').replaceAll(added, '')
      const own = stream.toString('latin1')
      assert.equal(rest, prime ? PRIMING + own.replace(/^\xef\xbb\xbf/, '') : own)
    }),
    { numRuns: 1000 },
  )
})

t.test('heartbeats anywhere between pieces change no event', async () => {
  const clock = new ManualIntervals()
  try {
    fc.assert(
      fc.property(cutStream, fc.array(fc.boolean(), { minLength: 13, maxLength: 13 }), (pieces, silent) => {
        const { client, stream } = streamTo({ heartbeat: 1000 })
        for (const [n, piece] of pieces.entries()) {
          if (silent[n % silent.length] === true) clock.tick()
          stream.write(piece)
        }
        stream.end()
        assert.deepEqual(receivedEvents(client.bytes), receivedEvents(Buffer.concat(pieces)))
      }),
      { numRuns: 1000 },
    )
  } finally {
    clock.restore()
  }
})

t.test('a heartbeat between CR and LF ends the line, and the LF does not end another', async (t) => {
  const clock = new ManualIntervals()
  t.teardown(() => clock.restore())
  const { client, stream } = streamTo({ heartbeat: 1000 })
  stream.write(Buffer.from('data: a\r\n\r'))
  clock.tick()
  clock.tick()
  stream.write(Buffer.from('\ndata: b\r\n\r\n'))
  t.equal(client.text, 'data: a\r\n\r: hb\n: hb\ndata: b\r\n\r\n')
})

t.test('while nothing comes, heartbeats do: between events only, and not to a client that does not read', async (t) => {
  const { client, stream } = streamTo({ heartbeat: 20 })
  await until('a heartbeat before the first event', () => client.text === ': hb\n')
  stream.write(Buffer.from('data: a\n'))
  await new Promise((resolve) => setTimeout(resolve, 70))
  t.equal(client.text.replaceAll(': hb\n', ''), 'data: a\n')
  t.ok(client.text.endsWith('data: a\n'), 'none within an event')
  client.ready = false
  t.equal(stream.write(Buffer.from('\n')), false)
  await new Promise((resolve) => setTimeout(resolve, 70))
  t.ok(client.text.endsWith('data: a\n\n'), 'none to a client that is slow')
  client.drain()
  await until('heartbeats again', () => client.text.endsWith('data: a\n\n: hb\n'))
  stream.end(Buffer.from('data: b\n\n'))
  const { length } = client.bytes
  await new Promise((resolve) => setTimeout(resolve, 70))
  t.equal(client.bytes.length, length, 'none behind the end')
})

t.test('no heartbeat while events come, none to a client that has left', async (t) => {
  const busy = streamTo({ heartbeat: 500 })
  for (let n = 0; n < 15; n++) {
    busy.stream.write(Buffer.from('data: a\n\n'))
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  t.notMatch(busy.client.text, 'hb')
  busy.stream.break()
  const left = streamTo({ heartbeat: 10 })
  left.client.leave()
  await new Promise((resolve) => setTimeout(resolve, 40))
  t.equal(left.client.text, '')
})

t.test('a stream that breaks off between events says why, as an event; within one it only breaks off', async (t) => {
  const errorData = ({ name }: typeof BROKEN): string => JSON.stringify({ code: name, line: '\u2028' })
  const between = streamTo({ errorData })
  between.stream.write(Buffer.from('data: a\r\n\r'))
  between.stream.break(BROKEN)
  t.same(receivedEvents(between.client.bytes)[1], {
    type: 'error',
    data: Buffer.from(errorData(BROKEN)).toString('latin1'),
    lastEventId: '',
  })
  t.match(between.client, { ending: 'broken', problem: BROKEN })
  for (const text of ['data: a\n', 'da', 'event: x\n']) {
    const within = streamTo({ errorData })
    within.stream.write(Buffer.from(text))
    within.stream.break(BROKEN)
    t.same([within.client.ending, within.client.text], ['broken', text])
  }
  const silent = streamTo({ ids })
  silent.stream.flushHead()
  silent.stream.break(BROKEN)
  t.same([silent.client.ending, silent.client.text], ['broken', PRIMING], 'not without the setting')
  const unexplained = streamTo({ errorData })
  unexplained.stream.break()
  t.same([unexplained.client.ending, unexplained.client.text], ['broken', ''])
})

t.test('what is no plain event stream passes untouched, whatever is set', async (t) => {
  const all = { ids, heartbeat: 10, errorData: () => 'x' }
  const others = [
    ['Content-Type', 'application/json', 'Content-Length', '9'],
    [...SSE, 'Content-Encoding', 'gzip'],
    ['Content-Type', 'application/vnd.amazon.eventstream'],
    [],
  ]
  for (const headers of others) {
    const { client, stream } = streamTo(all, headers)
    stream.flushHead()
    t.equal(client.ending, 'flushed')
    stream.write(Buffer.from('data: a\n\n'))
    await new Promise((resolve) => setTimeout(resolve, 25))
    stream.break(BROKEN)
    t.same([client.ending, client.text, client.headers], ['broken', 'data: a\n\n', headers])
  }
})

t.test('what told of the bytes as they were is not said of others', async (t) => {
  const headers = [...SSE, 'Content-Length', '9', 'ETag', '"x"', 'X-Request-Id', '1', 'Content-Encoding', 'identity']
  const { client, stream } = streamTo({ ids }, headers)
  t.same(client.headers, [...SSE, 'X-Request-Id', '1', 'Content-Encoding', 'identity'])
  stream.end(Buffer.from('data: a\n\n'))
  t.same([client.ending, client.text], ['ended', `${PRIMING}data: a\nid: ${NAMED}-1\n\n`])
  t.equal(client.writes.length, 1, 'in one piece')
})

t.test('a byte order mark stays where nothing is put before it, and goes where something is', async (t) => {
  const stream = Buffer.from('\ufeffdata: a\n\n')
  for (const pieces of [[stream], bytewise(stream)]) {
    t.same(sent({ errorData: () => '' }, pieces), stream)
    t.equal(receivedEvents(sent({ ids }, pieces)).length, 1)
  }
})

t.test('only what a rule asks for', async (t) => {
  const errorData = (): string => ''
  const settings = (rule: object) =>
    eventStreamSettings({ streamIds: false, streamError: 'reset', protocol: 'http', ...rule }, ids, errorData)
  t.equal(settings({}), undefined)
  t.strictSame(settings({ heartbeat: 15_000 }), { heartbeat: 15_000 })
  t.strictSame(settings({ streamIds: true, streamError: 'event' }), { ids, errorData })
  t.strictSame(settings({ streamIds: true, protocol: 'jsonrpc' }), { ids: { ...ids, primingEvent: true } })
})

t.test('on a connection: the error event arrives, and then no clean end', async (t) => {
  const server = createServer((_request, response) => {
    const stream = new EventStreamClient(new ClientResponse(response), { ids, heartbeat: 10, errorData: ({ name }) => name })
    stream.head(200, [...SSE, 'Content-Length', '9'])
    stream.flushHead()
    stream.write(Buffer.from('data: a\n\n'))
    setTimeout(() => stream.break(BROKEN), 50)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const answer = await send(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { method: 'GET' })
  t.match(answer, { status: 200, whole: false, headers: { 'content-length': undefined, 'transfer-encoding': 'chunked' } })
  t.match(answer.text, /: hb\n/)
  t.same(receivedEvents(answer.body), [
    { type: 'message', data: 'a', lastEventId: `${NAMED}-1` },
    { type: 'error', data: 'upstream-broken', lastEventId: `${NAMED}-1` },
  ])
})

/** setInterval by hand: `tick` is the moment at which every interval has just passed. */
class ManualIntervals {
  readonly #own = globalThis.setInterval
  #running = new Set<() => void>()

  constructor() {
    globalThis.setInterval = ((callback: () => void) => {
      this.#running = new Set([callback])
      return { unref: () => ({ refresh: () => {} }) }
    }) as unknown as typeof setInterval
  }

  tick(): void {
    for (const callback of this.#running) callback()
  }

  restore(): void {
    globalThis.setInterval = this.#own
  }
}
