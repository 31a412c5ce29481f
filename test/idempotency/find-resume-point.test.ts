// A client that comes back goes on right behind the event it saw last, or is told that it cannot.
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { findResumePoint, type ResumePoint } from '../../src/idempotency/find-resume-point.ts'
import { eventId, eventOrdinal } from '../../src/model/event-id.ts'
import { EventStreamSplitter, type StreamEvent } from '../../src/model/event-stream.ts'
import { receivedEvents } from '../helpers/event-source.ts'
import { bytewise, cutStream } from '../helpers/event-streams.ts'

const EXECUTION = '0198c0de-0000-7000-8000-000000000001'
const OTHER = '0198c0de-0000-7000-8000-000000000002'

async function* log(...pieces: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* pieces
}

function find(stream: string, lastEventId: string): Promise<ResumePoint | undefined> {
  return findResumePoint(log(Buffer.from(stream)), lastEventId, EXECUTION)
}

const TEN = Array.from({ length: 10 }, (_, n) => `id: u${n + 1}\ndata: ${n + 1}\n\n`).join('')
const TEN_WITHOUT = TEN.replaceAll(/id: .*\n/g, '')

const idOf = (executionId: string, n: number) => eventId({ fingerprint: 'A-Z_9', executionId }, n)

t.test("behind the upstream's own id", async (t) => {
  t.same(await find(TEN, 'u4'), { offset: TEN.indexOf('id: u5'), events: 4 })
  t.same(await find(TEN, 'u10'), { offset: TEN.length, events: 10 })
  t.same(await find(TEN, ' u4\t'), await find(TEN, 'u4'), 'white space around a header is nothing')
  t.equal(await find(TEN, 'u'), undefined)
  t.equal(await find(TEN, '4'), undefined, 'an id is no position')
  t.equal(await find(TEN, ''), undefined)
})

t.test('behind the n-th event, by an added id', async (t) => {
  t.same(await find(TEN_WITHOUT, idOf(EXECUTION, 4)), { offset: TEN_WITHOUT.indexOf('data: 5'), events: 4 })
  t.same(await find(TEN_WITHOUT, idOf(EXECUTION, 0)), { offset: 0, events: 0 })
  t.equal(await find(TEN_WITHOUT, idOf(EXECUTION, 11)), undefined)
  const quiet = `: hb\n\nretry: 1\n\n${TEN_WITHOUT}`
  t.same(await find(quiet, idOf(EXECUTION, 1)), { offset: quiet.indexOf('data: 2'), events: 1 })
})

t.test('an id of another execution is none of this one, nor a position', async (t) => {
  t.equal(await find(TEN_WITHOUT, idOf(OTHER, 4)), undefined)
  t.equal(await find(TEN_WITHOUT, idOf(OTHER, 0)), undefined)
  t.equal(await find(TEN, idOf(EXECUTION, 4)), undefined, 'the fourth event has an id of its own, so this was never given')
  const nested = `id: ${idOf(OTHER, 1)}\ndata: 1\n\nid: ${idOf(OTHER, 2)}\ndata: 2\n\n`
  t.same(await find(nested, idOf(OTHER, 1)), { offset: nested.indexOf(`id: ${idOf(OTHER, 2)}`), events: 1 })
  t.equal(eventOrdinal(`${EXECUTION}-04`, EXECUTION), undefined)
  t.equal(eventOrdinal(`${EXECUTION}-`, EXECUTION), undefined)
  t.equal(eventOrdinal(`${EXECUTION}-9999999999999999999`, EXECUTION), undefined)
})

t.test('an id that comes twice leaves nothing out', async (t) => {
  const stream = 'id: a\ndata: 1\n\nid: a\ndata: 2\n\n'
  t.same(await find(stream, 'a'), { offset: stream.indexOf('id: a', 1), events: 1 })
})

t.test('the line feed behind a carriage return has been seen too, also in the next piece', async (t) => {
  const stream = Buffer.from('id: 1\r\ndata: a\r\n\r\nid: 2\r\ndata: b\r\n\r\n')
  const second = stream.indexOf('id: 2')
  for (const pieces of [[stream], bytewise(stream), [stream.subarray(0, second - 1), stream.subarray(second - 1)]]) {
    t.same(await findResumePoint(log(...pieces), '1', EXECUTION), { offset: second, events: 1 })
  }
  const cut = [stream.subarray(0, second - 1)]
  t.same(await findResumePoint(log(...cut), '1', EXECUTION), { offset: second - 1, events: 1 })
})

t.test('nothing is read behind the event', async (t) => {
  let read = 0
  async function* counted(): AsyncGenerator<Buffer> {
    for (const piece of [TEN.slice(0, 40), TEN.slice(40), 'more', 'and more']) {
      read++
      yield Buffer.from(piece)
    }
  }
  t.equal((await findResumePoint(counted(), 'u1', EXECUTION))?.events, 1)
  t.equal(read, 1)
})

t.test('any stream in any pieces: what comes before and behind is all of it, once', async () => {
  const dataOf = (list: readonly { data: string }[]): string[] => list.map(({ data }) => data)
  await fc.assert(
    fc.asyncProperty(cutStream, async (pieces) => {
      const stream = Buffer.concat(pieces)
      const events: StreamEvent[] = []
      new EventStreamSplitter({ event: (event) => events.push(event) }).feed(stream)
      for (const [n, { id }] of events.filter(({ hasData }) => hasData).entries()) {
        const wanted = id ?? idOf(EXECUTION, n + 1)
        if (wanted.trim() === '') continue
        const found = await findResumePoint(log(...pieces), wanted, EXECUTION)
        assert.ok(found !== undefined && found.events <= n + 1)
        if (id === undefined) assert.equal(found.events, n + 1)
        const before = receivedEvents(stream.subarray(0, found.offset))
        // Behind a comment, since a mark within a stream is none.
        const behind = receivedEvents(Buffer.concat([Buffer.from(':\n'), stream.subarray(found.offset)]))
        assert.equal(before.length, found.events)
        assert.deepEqual([...dataOf(before), ...dataOf(behind)], dataOf(receivedEvents(stream)))
        // What begins with the second half of a line end would be an empty event to some clients.
        assert.notEqual(stream.subarray(found.offset - 1, found.offset + 1).toString(), '\r\n')
      }
    }),
    { numRuns: 300 },
  )
})
