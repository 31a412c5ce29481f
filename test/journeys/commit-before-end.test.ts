// Whoever saw the clean end of a guarded answer can rely on it being stored: the end waits for the commit.
import t from 'tap'
import { behind, KEYED, key } from '../helpers/behind.ts'
import { type Answer, send } from '../helpers/client.ts'
import { RedisServer } from '../helpers/redis-server.ts'
import { TcpProxy } from '../helpers/tcp-proxy.ts'
import { latch } from '../helpers/upstream.ts'
import { until, within } from '../helpers/until.ts'

const SMALL = Buffer.alloc(1000, 's')
const LARGE = Buffer.alloc(300_000, 'l')

interface Kind {
  name: string
  status: number
  headers: Record<string, string>
  body: Buffer
  /** What may be seen before the commit: nothing, all but the last piece, or all but the end. */
  early: 'nothing' | 'not-whole' | 'all-but-the-end'
}

const KINDS: Kind[] = [
  { name: 'small', status: 200, headers: { 'Content-Length': '1000' }, body: SMALL, early: 'nothing' },
  { name: 'large', status: 200, headers: { 'Content-Length': '300000' }, body: LARGE, early: 'not-whole' },
  { name: 'chunked', status: 200, headers: {}, body: SMALL, early: 'all-but-the-end' },
  { name: 'large-chunked', status: 200, headers: {}, body: LARGE, early: 'all-but-the-end' },
  { name: 'empty', status: 201, headers: { 'Content-Length': '0' }, body: Buffer.alloc(0), early: 'nothing' },
  { name: 'no-content', status: 204, headers: {}, body: Buffer.alloc(0), early: 'nothing' },
  { name: 'not-modified', status: 304, headers: {}, body: Buffer.alloc(0), early: 'nothing' },
  { name: 'failed', status: 500, headers: { 'Content-Length': '1000' }, body: SMALL, early: 'nothing' },
  { name: 'failed-chunked', status: 503, headers: {}, body: SMALL, early: 'nothing' },
]

t.test('no end is seen while the store stands still; all of it once it goes on', async (t) => {
  const redis = await RedisServer.start(['--appendonly', 'no'])
  const line = await TcpProxy.start(redis.port)
  t.teardown(async () => {
    await line.stop()
    await redis.stop()
  })
  const doors = new Map(KINDS.map((kind) => [`/${kind.name}`, latch()]))
  const { gateway, upstream } = await behind(t, {
    store: `redis://127.0.0.1:${line.port}`,
    top: 'storeTimeout: 2s',
    handler: async (request, response) => {
      const kind = KINDS.find(({ name }) => request.url === `/${name}`)!
      await doors.get(request.url)!.opened
      response.writeHead(kind.status, kind.headers)
      response.end(kind.body)
    },
  })
  const seen = KINDS.map((kind) => {
    const one = { kind, bytes: 0, head: false, answer: undefined as Answer | undefined, done: undefined as Promise<Answer> | undefined }
    one.done = send(`${gateway.url}/${kind.name}`, {
      headers: key('k'),
      onHead: () => (one.head = true),
      onData: (chunk) => (one.bytes += chunk.length),
    })
    void one.done.then((answer) => (one.answer = answer))
    return one
  })
  await within('all are at the upstream', upstream.arrived(KINDS.length))
  // From here on what the gateway asks of the store is held back.
  redis.pause()
  t.teardown(() => redis.resume())
  for (const door of doors.values()) door.open()
  await until('what may be seen early has come', () =>
    seen.every(({ kind, bytes }) => kind.early === 'nothing' || (kind.early === 'not-whole' ? bytes > 0 : bytes === kind.body.length)),
  )
  // The settles have arrived at the store's door; anything that does not wait for them would be out by now.
  await new Promise((resolve) => setTimeout(resolve, 250))
  for (const { kind, head, bytes, answer } of seen) {
    t.equal(answer, undefined, `${kind.name}: no end before the commit`)
    t.equal(head, kind.early !== 'nothing', `${kind.name}: the head`)
    if (kind.early === 'not-whole') t.ok(bytes < kind.body.length, `${kind.name}: the last piece is held`)
  }
  redis.resume()
  for (const { kind, done } of seen) {
    const answer = await within(`the end of ${kind.name}`, done!)
    t.equal(answer.status, kind.status, kind.name)
    t.ok(answer.whole)
    t.ok(answer.body.equals(kind.body))
    const again = await send(`${gateway.url}/${kind.name}`, { headers: key('k') })
    t.equal(again.headers['idempotency-replayed'], kind.status >= 500 ? undefined : 'true', `${kind.name} was stored`)
  }
})

t.test('an answer whose commit does not come is not given as whole; it is stored once the store is back', async (t) => {
  const redis = await RedisServer.start(['--appendonly', 'no'])
  t.teardown(() => redis.stop())
  const door = latch()
  const { gateway, upstream } = await behind(t, {
    store: redis.url,
    top: 'storeTimeout: 200ms',
    rules: `${KEYED}    lease: 1s\n`,
    handler: async (request, response) => {
      await door.opened
      if (request.url === '/stream') response.write('some')
      response.end('end')
    },
  })
  const small = send(`${gateway.url}/small`, { headers: key('k') })
  const stream = send(`${gateway.url}/stream`, { headers: key('k') })
  await upstream.arrived(2)
  redis.pause()
  t.teardown(() => redis.resume())
  door.open()
  t.notOk((await stream).whole, 'what was begun is broken off')
  const held = await small
  if (held.status === 200) t.notOk(held.whole, 'chunked: begun as well')
  else t.match(held, { status: 503, headers: { 'oncegate-error': 'result-pending' } })
  const refused = await send(`${gateway.url}/other`, { headers: key('k') })
  t.match(refused, { status: 503, headers: { 'oncegate-error': 'store-unavailable', 'retry-after': /^[1-9]/ } })
  t.equal(upstream.count(), 2, 'without the store nothing is sent')
  redis.resume()
  await until(
    'both answers are stored',
    async () => {
      const answers = await Promise.all(['/small', '/stream'].map((path) => send(`${gateway.url}${path}`, { headers: key('k') })))
      return answers.every((answer) => answer.headers['idempotency-replayed'] === 'true')
    },
    8000,
  )
  t.equal(upstream.count(), 2)
})
