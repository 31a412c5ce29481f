import { brotliCompressSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { replayBody } from '../../src/http/replay-body.ts'

const plain = Buffer.from('{"n":1}')

function stored(coding: string, body: Buffer) {
  const headers = ['Content-Type', 'application/json', 'Content-Encoding', coding, 'ETag', '"x"']
  return { head: { status: 200, headers, bodyHash: '', bodyBytes: body.length, bodyStored: true }, body }
}

t.test('a client that accepts the stored coding gets the stored bytes', async (t) => {
  const gzip = gzipSync(plain)
  for (const accept of ['gzip', 'br, GZIP;q=0.5', '*', 'deflate, *;q=0.1']) {
    const replay = await replayBody(stored('gzip', gzip), accept)
    t.equal(replay.body, gzip, accept)
    t.ok(replay.headers.includes('Content-Encoding'))
  }
})

t.test('a client that does not gets the plain bytes, without coding and validators', async (t) => {
  for (const accept of ['', 'identity', 'br', 'gzip;q=0', '*;q=0', 'gzip;q=0, *']) {
    const replay = await replayBody(stored('gzip', gzipSync(plain)), accept)
    t.same(replay.body, plain, accept)
    t.same(replay.headers, ['Content-Type', 'application/json'])
  }
  t.same((await replayBody(stored('br', brotliCompressSync(plain)), 'gzip')).body, plain)
})

t.test('bytes that are not what their coding says are replayed as they came', async (t) => {
  const replay = await replayBody(stored('gzip', plain), '')
  t.equal(replay.body, plain)
  t.ok(replay.headers.includes('Content-Encoding'))
})
