// A stream is complete only where its last event, line or frame holds what its rule names.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { watchCompletion } from '../../src/idempotency/completion/watch-completion.ts'
import type { HeaderList } from '../../src/model/stored-response.ts'
import { bytewise, cutStream } from '../helpers/event-streams.ts'
import { receivedEvents } from '../helpers/event-source.ts'
import { within } from '../helpers/until.ts'

async function isComplete(completeOn: string, headers: HeaderList, pieces: readonly Buffer[], status = 200): Promise<boolean | undefined> {
  const completion = watchCompletion([completeOn].flat(), status, headers)
  for (const piece of pieces) completion?.append(piece)
  return completion && within('a verdict', completion.isComplete())
}

/** The verdict on the whole, after seeing that no cut changes it. */
async function verdict(t: Test, completeOn: string, type: string, stream: string | Buffer): Promise<boolean | undefined> {
  const bytes = Buffer.from(stream as string)
  const whole = await isComplete(completeOn, ['Content-Type', type], [bytes])
  t.equal(await isComplete(completeOn, ['content-type', type], bytewise(bytes)), whole, 'byte by byte')
  return whole
}

const SSE = 'text/event-stream; charset=utf-8'
const DELTAS = 'data: {"delta":"a"}\n\ndata: {"delta":"b"}\n\n'

t.test('events: the text in the data of the last one', async (t) => {
  t.equal(await verdict(t, '[DONE]', SSE, `${DELTAS}data: [DONE]\n\n`), true)
  t.equal(await verdict(t, '[DONE]', SSE, DELTAS), false)
  t.equal(await verdict(t, '[DONE]', SSE, `data: [DONE]\n\n${DELTAS}`), false, 'not the last')
  t.equal(await verdict(t, '[DONE]', SSE, `${DELTAS}data: [DO\ndata: NE]\n\n`), false, 'not across two lines')
  t.equal(
    await verdict(t, '[DONE]', SSE, `${DELTAS}data: x\ndata: y[DONE]z\n\n: bye\n\nretry: 1\n\n`),
    true,
    'what has no data is no last event',
  )
  t.equal(await verdict(t, '[DONE]', SSE, `${DELTAS}: [DONE]\n\nid: [DONE]\n\n`), false, 'in the data')
  t.equal(await verdict(t, '完', SSE, 'data: 讲完了\n\n'), true)
  t.equal(await verdict(t, '[DONE]', SSE, ''), false)
})

t.test('events: the name of the last one', async (t) => {
  t.equal(await verdict(t, 'message_stop', SSE, `${DELTAS}event: message_stop\ndata: {}\n\n`), true)
  t.equal(await verdict(t, 'message_stop', SSE, `${DELTAS}event: message_stop\n\n`), true, 'also without data')
  t.equal(await verdict(t, 'message', SSE, `${DELTAS}event: message_stop\ndata: {}\n\n`), false, 'the whole name')
  t.equal(await verdict(t, 'message_stop', SSE, `event: message_stop\ndata: {}\n\n${DELTAS}`), false)
})

t.test('events: the last blank line may be missing, but no line may be cut', async (t) => {
  t.equal(await verdict(t, '[DONE]', SSE, `${DELTAS}data: [DONE]\n`), true)
  t.equal(await verdict(t, '[DONE]', SSE, `${DELTAS}data: [DONE]`), false)
  t.equal(await verdict(t, 'response.completed', SSE, `event: response.completed\ndata: {"type":"response.completed","resp`), false)
  t.equal(await verdict(t, '[DONE]', SSE, `${DELTAS}data: [DONE]\n\ndata: {"mo`), false)
})

t.test('lines: the text in the last one', async (t) => {
  for (const type of ['application/x-ndjson', 'application/jsonl', 'Application/JSON-Seq']) {
    t.equal(await verdict(t, '"done":true', type, '{"done":false}\n{"done":true}\n'), true)
    t.equal(await verdict(t, '"done":true', type, '{"done":true}\n{"done":false}\n'), false)
    t.equal(await verdict(t, '"done":true', type, '{"done":true}\r\n\r\n \n'), true, 'blank lines do not count')
    t.equal(await verdict(t, '"done":true', type, '{"a":1}\n{"done":true,"context":[1,2]}'), true, 'a whole one without its line feed')
    t.equal(await verdict(t, '"done":true', type, '{"a":1}\n{"done":true,"context":[1,2'), false, 'one that breaks off')
    t.equal(await verdict(t, '"done":true', type, ''), false)
  }
  t.equal(await verdict(t, '"done":true', 'application/json-seq', '\x1e{"a":1}\n\x1e{"done":true}'), true)
  t.equal(await verdict(t, '"done":true', 'application/json-seq', '\x1e{"done":true}\n\x1e\n'), true)
})

t.test('frames: the text in the last 16 KiB', async (t) => {
  const type = 'application/vnd.amazon.eventstream'
  const frame = Buffer.concat([Buffer.from([0, 0, 1, 0xff]), Buffer.from('messageStop'), Buffer.alloc(9000, 0x80)])
  t.equal(await verdict(t, 'messageStop', type, frame), true)
  t.equal(await verdict(t, 'messageStop', type, Buffer.concat([Buffer.alloc(100_000), frame])), true)
  t.equal(await verdict(t, 'messageStop', type, Buffer.concat([frame, Buffer.alloc(9000)])), false)
  t.equal(await isComplete('messageStop', ['Content-Type', type], [frame, Buffer.alloc(7000), Buffer.alloc(300)]), true)
})

t.test('nothing is asked of other answers', async (t) => {
  const json = [Buffer.from('{}')]
  t.equal(await isComplete('[DONE]', ['Content-Type', 'application/json'], json), undefined)
  t.equal(await isComplete('[DONE]', [], json), undefined)
  t.equal(await isComplete('[DONE]', ['Content-Type', SSE], json, 400), undefined)
  t.equal(await isComplete('[DONE]', ['Content-Type', SSE, 'Content-Encoding', 'zstd-of-mine'], json), undefined)
  t.equal(await isComplete('[DONE]', ['Content-Type', SSE, 'Content-Encoding', 'gzip, br'], json), undefined)
  t.equal(await isComplete('[DONE]', ['Content-Type', SSE, 'Content-Encoding', 'identity'], json), false)
})

t.test('behind a Content-Encoding', async (t) => {
  const whole = Buffer.from(`${DELTAS}data: [DONE]\n\n`)
  for (const [coding, encode] of Object.entries({ gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync, 'X-GZip': gzipSync })) {
    const headers = ['Content-Type', SSE, 'Content-Encoding', coding]
    t.equal(await isComplete('[DONE]', headers, bytewise(encode(whole))), true, coding)
    t.equal(await isComplete('[DONE]', headers, [encode(Buffer.from(DELTAS))]), false, `${coding}, without the end`)
    t.equal(await isComplete('[DONE]', headers, [encode(whole).subarray(0, -3)]), false, `${coding}, cut`)
    t.equal(await isComplete('[DONE]', headers, [whole, whole]), false, `${coding}, which it is not`)
    t.equal(await isComplete('[DONE]', headers, []), false, `${coding}, empty`)
  }
})

t.test('a decoder that falls behind asks for a pause, and tells when to go on', async (t) => {
  const completion = watchCompletion(['[DONE]'], 200, ['Content-Type', SSE, 'Content-Encoding', 'gzip'])!
  const bytes = gzipSync(`data: ${randomBytes(500_000).toString('hex')}\n\ndata: [DONE]\n\n`)
  let pauses = 0
  for (let at = 0; at < bytes.length; at += 8192) {
    if (completion.append(bytes.subarray(at, at + 8192))) continue
    pauses++
    await within('a drain', new Promise<void>((resolve) => completion.onDrain(resolve)))
  }
  t.ok(pauses > 0)
  t.equal(await within('a verdict', completion.isComplete()), true)
  const abandoned = watchCompletion(['[DONE]'], 200, ['Content-Type', SSE, 'Content-Encoding', 'gzip'])!
  abandoned.abandon()
  t.equal(abandoned.append(bytes), true, 'nothing is waited for any more')
})

t.test('any event stream in any pieces: as a client sees its last event', async () => {
  await fc.assert(
    fc.asyncProperty(cutStream, async (pieces) => {
      const stream = Buffer.concat([...pieces, Buffer.from('\n\n')])
      const last = receivedEvents(stream).at(-1)
      const wanted = last?.data.split('\n').some((line) => line.includes('"text"')) ?? false
      assert.equal(await isComplete('"text"', ['Content-Type', SSE], [...pieces, Buffer.from('\n\n')]), wanted)
    }),
    { numRuns: 500 },
  )
})
