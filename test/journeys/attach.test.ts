// A duplicate joins the answer that is being made: from its first byte, live, and whole — at the same gateway or another one.
import { createHash, randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { key } from '../helpers/behind.ts'
import { type Answer, send } from '../helpers/client.ts'
import { testGateway, type TestGateway } from '../helpers/gateway.ts'
import { SHARED_STORES } from '../helpers/shared-store.ts'
import { type Handler, json, latch, startUpstream, type TestUpstream } from '../helpers/upstream.ts'
import { until, within } from '../helpers/until.ts'

const ATTACH = `
  - name: attach
    match: { path: /* }
    fingerprint: { key: header.idempotency-key }
    inFlight: { answer: attach }
    lease: 2s
`

interface Scene {
  upstream: TestUpstream
  /** Where the first request goes, and where its duplicates go. */
  first: TestGateway
  second: TestGateway
}

type Open = (t: Test, handler: Handler, rules?: string) => Promise<Scene>

async function oneGateway(t: Test, handler: Handler, rules = ATTACH): Promise<Scene> {
  const upstream = await startUpstream(handler)
  const gateway = await testGateway({ rules, upstream: upstream.url })
  t.teardown(async () => {
    await Promise.all([gateway.close(), upstream.close()])
  })
  return { upstream, first: gateway, second: gateway }
}

function twoGateways(kind: keyof typeof SHARED_STORES): Open {
  return async (t, handler, rules = ATTACH) => {
    const upstream = await startUpstream(handler)
    const store = await SHARED_STORES[kind]()
    const open = () => testGateway({ rules, upstream: upstream.url, store: store.url })
    const [first, second] = [await open(), await open()]
    t.teardown(async () => {
      await Promise.all([first.close(), second.close(), upstream.close()])
      await store.remove()
    })
    return { upstream, first, second }
  }
}

const SCENES: Record<string, Open> = {
  'one gateway': oneGateway,
  'two gateways on Redis': twoGateways('redis'),
  'two gateways on LMDB': twoGateways('lmdb'),
  'two gateways on PostgreSQL': twoGateways('postgres'),
}

/** An upstream that streams events, each when it is let. */
function eventStream(
  events: string[],
  before: (n: number) => Promise<unknown>,
  end: (response: Parameters<Handler>[1]) => unknown,
): Handler {
  return async (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'X-Answer': 'of the first' }).flushHeaders()
    for (const [n, event] of events.entries()) {
      await before(n)
      if (response.destroyed) return
      response.write(event)
    }
    end(response)
  }
}

const finish = (response: Parameters<Handler>[1]): void => void response.end()

function numbered(count: number): string[] {
  return Array.from({ length: count }, (_, n) => `id: ${n + 1}\ndata: event ${n + 1}\n\n`)
}

/** A request whose bytes can be watched while they come. */
function watched(gateway: TestGateway, name: string, more: Record<string, string> = {}) {
  const head = latch()
  const state = { text: '', status: 0 }
  const abort = new AbortController()
  const answer = send(gateway.url, {
    headers: key(name, more),
    signal: abort.signal,
    onHead: (response) => {
      state.status = response.statusCode!
      head.open()
    },
    onData: (chunk) => (state.text += chunk.toString('latin1')),
  })
  return { answer, state, head: head.opened, leave: () => abort.abort() }
}

for (const [where, open] of Object.entries(SCENES)) {
  t.test(where, async (t) => {
    await t.test('a duplicate gets the head at once, what has come so far, and the rest as it comes', async (t) => {
      const events = numbered(3)
      const doors = events.map(() => latch())
      const end = latch()
      const { upstream, first, second } = await open(t, async (request, response) => {
        await eventStream(
          events,
          (n) => doors[n]!.opened,
          async (response) => {
            await end.opened
            response.end()
          },
        )(request, response, undefined as never)
      })
      const one = watched(first, 'k')
      await within('the first has its head', one.head)
      const two = watched(second, 'k')
      await within('a duplicate gets the head before the first event', two.head)
      for (const [n, door] of doors.entries()) {
        t.notMatch(two.state.text, `event ${n + 1}\n`)
        door.open()
        await until(`event ${n + 1} has come to both`, () => [one, two].every(({ state }) => state.text.includes(`event ${n + 1}\n\n`)))
      }
      const three = watched(second, 'k')
      await until('one who joins late has all', () => three.state.text === events.join(''))
      t.equal(await Promise.race([two.answer.then(() => 'ended'), pause(50, 'open')]), 'open', 'no end before the end')
      end.open()
      const answers = await Promise.all([one.answer, two.answer, three.answer])
      for (const answer of answers)
        t.match(answer, { status: 200, text: events.join(''), whole: true, headers: { 'x-answer': 'of the first' } })
      t.same(
        answers.map(({ headers }) => headers['idempotency-replayed']),
        [undefined, 'true', 'true'],
      )
      t.equal(new Set(answers.map(({ headers }) => headers['idempotency-fingerprint'])).size, 1)
      t.match(await send(second.url, { headers: key('k') }), {
        text: events.join(''),
        whole: true,
        headers: { 'idempotency-replayed': 'true' },
      })
      t.equal(upstream.count(), 1)
    })

    await t.test('a duplicate that comes before the head waits for it; a small answer is replayed', async (t) => {
      const door = latch()
      const { upstream, first, second } = await open(t, async (_request, response) => {
        await door.opened
        json(response, 200, { run: upstream.count() })
      })
      const answers = [send(first.url, { headers: key('k') }), send(second.url, { headers: key('k') })]
      await upstream.arrived(1)
      await pause(30)
      door.open()
      for (const answer of await Promise.all(answers)) t.match(answer, { status: 200, text: '{"run":1}', whole: true })
      t.equal(upstream.count(), 1)
    })

    await t.test('100 duplicates at random moments of 400 events: each gets every event once, in order', async (t) => {
      const events = numbered(400)
      const { upstream, first, second } = await open(
        t,
        eventStream(events, () => pause(5), finish),
      )
      const all = [send(first.url, { headers: key('k') })]
      await upstream.arrived(1)
      for (let n = 0; n < 100; n++) {
        all.push(pause(Math.random() * 2000).then(() => send((n % 2 ? first : second).url, { headers: key('k') })))
      }
      const wrong = (await Promise.all(all)).filter((answer) => answer.text !== events.join('') || !answer.whole)
      t.equal(wrong.length, 0)
      t.equal(upstream.count(), 1)
    })

    await t.test('whoever comes around the end gets the whole stream', async (t) => {
      const events = numbered(5)
      const { upstream, first, second } = await open(
        t,
        eventStream(events, () => pause(4), finish),
      )
      const all: Promise<Answer>[] = []
      for (let round = 0; round < 10; round++) {
        const ends = send(first.url, { headers: key(`k${round}`) })
        all.push(ends)
        await upstream.arrived(round + 1)
        for (let n = 0; n < 50; n++) {
          all.push(pause(Math.random() * 40).then(() => send((n % 2 ? first : second).url, { headers: key(`k${round}`) })))
        }
        await ends
      }
      const wrong = (await Promise.all(all)).filter((answer) => answer.text !== events.join('') || !answer.whole)
      t.equal(wrong.length, 0)
      t.equal(upstream.count(), 10)
    })

    await t.test('an upstream that breaks off breaks everybody off, and nothing of it is a result', async (t) => {
      const door = latch()
      const { upstream, first, second } = await open(
        t,
        eventStream(
          numbered(2),
          () => Promise.resolve(),
          async (response) => {
            await door.opened
            response.destroy()
          },
        ),
      )
      const one = watched(first, 'k')
      await within('the head', one.head)
      const two = watched(second, 'k')
      await until('both have the events', () => [one, two].every(({ state }) => state.text.includes('event 2\n\n')))
      door.open()
      for (const answer of await Promise.all([one.answer, two.answer])) t.match(answer, { status: 200, whole: false })
      t.match(await send(second.url, { headers: key('k') }), { status: 409, headers: { 'oncegate-error': 'outcome-unknown' } })
      t.equal(upstream.count(), 1)
    })

    await t.test('the first client leaves: the answer belongs to whoever has joined', async (t) => {
      const door = latch()
      const events = numbered(2)
      const { upstream, first, second } = await open(
        t,
        eventStream(events, (n) => (n === 0 ? Promise.resolve() : door.opened), finish),
      )
      const one = watched(first, 'k')
      await within('the head', one.head)
      const two = watched(second, 'k')
      await until('the first event has come', () => two.state.text.includes('event 1'))
      one.leave()
      await t.rejects(one.answer)
      door.open()
      t.match(await two.answer, { text: events.join(''), whole: true })
      t.equal(upstream.count(), 1)
    })

    await t.test('a large answer with a length: live, then by pieces, exact and with its length', async (t) => {
      const body = randomBytes(3_000_000)
      const door = latch()
      const { upstream, first, second } = await open(t, async (_request, response) => {
        response.writeHead(200, { 'Content-Type': 'application/octet-stream', 'Content-Length': body.length })
        response.write(body.subarray(0, 1_000_000))
        await door.opened
        response.end(body.subarray(1_000_000))
      })
      const one = watched(first, 'k')
      await within('the head', one.head)
      const two = watched(second, 'k')
      await until('the first part has come', () => two.state.text.length === 1_000_000)
      door.open()
      const third = async () => {
        await Promise.all([one.answer, two.answer])
        return send(second.url, { headers: key('k') })
      }
      const digest = createHash('sha256').update(body).digest('hex')
      for (const answer of await Promise.all([one.answer, two.answer, third()])) {
        t.match(answer, { whole: true, headers: { 'content-length': String(body.length) } })
        t.equal(createHash('sha256').update(answer.body).digest('hex'), digest)
      }
      t.equal(upstream.count(), 1)
    })
  })
}
