// The events of a stream are found where they are, wherever its bytes are cut.
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { EventStreamSplitter, type StreamEvent } from '../../src/model/event-stream.ts'
import { receivedEvents } from '../helpers/event-source.ts'
import { bytewise, cutStream } from '../helpers/event-streams.ts'

interface Split {
  readonly events: StreamEvent[]
  readonly data: string[]
  readonly splitter: EventStreamSplitter
}

/** `data`: of each event with data, its lines joined by LF. */
function split(pieces: readonly Buffer[]): Split {
  const events: StreamEvent[] = []
  const data: string[] = []
  let lines: string[] = []
  const splitter = new EventStreamSplitter({
    event: (event) => {
      events.push(event)
      if (event.hasData) data.push(lines.join('\n'))
      lines = []
    },
    data: (piece, first) => {
      const text = piece.toString('latin1')
      if (first) lines.push(text)
      else lines[lines.length - 1] += text
    },
  })
  for (const piece of pieces) splitter.feed(piece)
  return { events, data, splitter }
}

t.test('id, name and data of each event, and where it ends', async (t) => {
  const stream = ': hello\nid: 1\nevent: start\ndata: {"a":1}\n\ndata: b\ndata: c\n\nid: 3\n\n: nothing\n\n\nretry: 5\n\ndata: unfinished\n'
  const { events, data, splitter } = split([Buffer.from(stream)])
  t.match(events, [
    { id: '1', name: 'start', hasData: true, end: stream.indexOf('data: b') },
    { id: undefined, name: undefined, hasData: true, end: stream.indexOf('id: 3') },
    { id: '3', hasData: false, end: stream.indexOf(': nothing') },
    { id: undefined, hasData: false, end: stream.indexOf('data: unfinished') },
  ])
  t.equal(events.length, 4, 'comments and blank lines are no events')
  t.same(data, ['{"a":1}', 'b\nc'])
  t.notOk(splitter.betweenEvents, 'one has begun')
  t.ok(splitter.betweenLines)
})

for (const [name, end] of Object.entries({ LF: '\n', CR: '\r', CRLF: '\r\n' })) {
  t.test(`lines that end with ${name}, byte by byte`, async (t) => {
    const stream = `id: 1${end}data: a${end}${end}data: b${end}${end}`
    const { events, splitter } = split(bytewise(Buffer.from(stream)))
    t.match(events, [
      { id: '1', lineEnd: end, blankAt: stream.indexOf('data: b') - end.length },
      { id: undefined, lineEnd: end, blankAt: stream.length - end.length },
    ])
    t.equal(events.length, 2, 'an LF behind a CR ends no second line')
    t.ok(splitter.betweenEvents)
  })
}

t.test('line ends of every kind in one stream', async (t) => {
  const { events } = split([Buffer.from('data: a\r\ndata: b\n\rdata: c\r\r\ndata: d\n\n')])
  t.equal(events.length, 3)
})

t.test('a byte order mark is none of the first name', async (t) => {
  t.match(split([Buffer.from('\ufeffid: 7\ndata: a\n\n')]).events, [{ id: '7', hasData: true }])
  t.match(split([Buffer.from('\ufeff\ufeffid: 7\ndata: a\n\n')]).events, [{ id: undefined, hasData: true }])
})

t.test('ids that no client would take', async (t) => {
  t.match(split([Buffer.from('id: a\0b\ndata: a\n\n')]).events, [{ id: undefined }])
  t.match(split([Buffer.from(`id: ${'x'.repeat(5000)}\ndata: a\n\n`)]).events, [{ id: undefined }])
  t.match(split([Buffer.from('id\ndata: a\n\nid: \ndata: a\n\n')]).events, [{ id: '' }, { id: '' }])
})

t.test('any stream in any pieces has the events that a client receives', async () => {
  fc.assert(
    fc.property(cutStream, (pieces) => {
      const stream = Buffer.concat(pieces)
      const { events, data, splitter } = split(pieces)
      const whole = split([stream])
      assert.deepEqual(events, whole.events)
      assert.deepEqual(data, whole.data)
      assert.equal(splitter.betweenEvents, whole.splitter.betweenEvents)
      const received = receivedEvents(stream)
      assert.deepEqual(
        data,
        received.map((event) => event.data),
      )
      let lastId = ''
      const named = events.flatMap(({ id, name, hasData }) => {
        lastId = id ?? lastId
        return hasData ? [[(name ?? '') === '' ? 'message' : name, lastId]] : []
      })
      assert.deepEqual(
        named,
        received.map(({ type, lastEventId }) => [type, lastEventId]),
      )
    }),
    { numRuns: 1000 },
  )
})

t.test('each event ends where a client would dispatch it, and not a byte earlier', async () => {
  fc.assert(
    fc.property(cutStream, (pieces) => {
      const stream = Buffer.concat(pieces)
      let dispatched = 0
      for (const { blankAt, end, hasData } of split(pieces).events) {
        if (!hasData) continue
        assert.equal(receivedEvents(stream.subarray(0, blankAt)).length, dispatched)
        dispatched++
        assert.equal(receivedEvents(stream.subarray(0, end)).length, dispatched)
      }
    }),
    { numRuns: 300 },
  )
})
