// maxInFlightPerOwner: one owner cannot take all the executions; what needs none is not counted, and no place is ever lost.
import t, { type Test } from 'tap'
import { RedisServer } from '../helpers/redis-server.ts'
import { type Ask, replayed, stage } from '../helpers/stage.ts'
import { TcpProxy } from '../helpers/tcp-proxy.ts'
import { until } from '../helpers/until.ts'
import { json, latch } from '../helpers/upstream.ts'
import type { Answer } from '../helpers/client.ts'

const rules = (most: number, more = ''): string => `
  - name: run
    match: { path: /run }
    fingerprint: { key: header.idempotency-key }
    maxInFlightPerOwner: ${most}
${more}
`

function count(answers: readonly Answer[], status: number): number {
  return answers.filter((answer) => answer.status === status).length
}

/** A store so slow that acquires overlap: each looks at the limits before any of the others has its claim. */
async function slowStore(t: Test): Promise<string> {
  const redis = await RedisServer.start()
  t.teardown(() => redis.stop())
  const proxy = await TcpProxy.start(redis.port)
  t.teardown(() => proxy.stop())
  proxy.delayMs = 50
  return `redis://127.0.0.1:${proxy.port}`
}

t.test('limit 50: of 200 requests at once 50 are executed and 150 are refused, while another owner is served', async (t) => {
  const door = latch()
  const { ask, upstream } = await stage(t, {
    rules: rules(50),
    store: await slowStore(t),
    handler: async (_request, response) => {
      await door.opened
      json(response, 200, {})
    },
  })
  const answered: Answer[] = []
  const all = Array.from({ length: 200 }, (_, n) =>
    ask('/run', { as: 'u1', key: `k${n}` }).then((answer) => {
      answered.push(answer)
      return answer
    }),
  )
  await until('150 are refused', () => answered.length === 150)
  await upstream.arrived(50)
  for (const refused of answered) {
    t.match(refused, {
      status: 429,
      headers: { 'oncegate-error': 'too-many-in-flight', 'x-should-retry': 'true', 'retry-after': /^[1-9]\d*$/ },
    })
  }
  const other = ask('/run', { as: 'u2', key: 'k0' })
  await upstream.arrived(51)
  door.open()
  t.equal((await other).status, 200)
  const answers = await Promise.all(all)
  t.equal(count(answers, 200), 50)
  t.equal(count(answers, 429), 150)
  // What was refused was not begun: each is executed when it comes again, and its claim has not become unknown.
  for (const [n, { status }] of answers.entries()) {
    if (status !== 429) continue
    t.equal((await ask('/run', { as: 'u1', key: `k${n}` })).status, 200)
  }
  t.equal(upstream.count(), 201)
})

t.test('a new wish in the words of an earlier one, refused at the limit, leaves the result of that as it is', async (t) => {
  const door = latch()
  const { ask, upstream } = await stage(t, {
    rules: `
  - name: pay
    match: { path: /pay }
    fingerprint: { order: body.order }
    retryEvidence: header.x-retry
    maxInFlightPerOwner: 1
`,
    store: await slowStore(t),
    handler: async (request, response) => {
      if (request.body.includes('"order":2')) await door.opened
      json(response, 200, {})
    },
  })
  const pay = (order: number, retry: string) => ask('/pay', { body: { order }, headers: { 'x-retry': retry } })
  t.equal((await pay(1, '0')).status, 200)
  const other = pay(2, '0')
  // While the other's acquire is on its way.
  await new Promise((resolve) => setTimeout(resolve, 20))
  const refused = await pay(1, '0')
  t.equal(refused.status, 429)
  t.ok(replayed(await pay(1, '1')))
  door.open()
  t.equal((await other).status, 200)
  t.equal(upstream.count(), 2)
})

t.test('duplicates take no place: they join, wait and are replayed at the limit', async (t) => {
  const door = latch()
  const { ask, upstream } = await stage(t, {
    rules: rules(1, '    inFlight: { answer: wait }'),
    handler: async (_request, response) => {
      await door.opened
      json(response, 200, { n: upstream.count() })
    },
  })
  const all = Array.from({ length: 20 }, () => ask('/run', { key: 'k' }))
  await upstream.arrived(1)
  t.equal((await ask('/run', { key: 'other' })).status, 429)
  door.open()
  t.equal(count(await Promise.all(all), 200), 20)
  t.equal((await ask('/run', { key: 'other' })).status, 200, 'the place is free again')
  t.equal((await ask('/run', { key: 'k' })).headers['idempotency-replayed'], 'true')
  t.equal(upstream.count(), 2)
})

t.test('all who have no owner count as one, and so does everybody where the rule has none', async (t) => {
  for (const [more, asked] of [
    ['', [{ as: null }, { as: null }]],
    ['    owner: none', [{ as: 'a' }, { as: 'b' }]],
  ] as const satisfies [string, [Ask, Ask]][]) {
    const door = latch()
    const { ask, upstream } = await stage(t, {
      rules: rules(1, more),
      handler: async (_request, response) => {
        await door.opened
        json(response, 200, {})
      },
    })
    const first = ask('/run', { ...asked[0], key: 'k1' })
    await upstream.arrived(1)
    t.equal((await ask('/run', { ...asked[1], key: 'k2' })).status, 429)
    door.open()
    t.equal((await first).status, 200)
  }
})

t.test('no place is lost, whatever ends the execution', async (t) => {
  const { ask, upstream } = await stage(t, {
    rules: rules(1, '    timeout: 300ms\n    onDisconnect: abort\n    async: true\n    maxResult: 100B'),
    handler: (request, response) => {
      switch (request.headers['x-end']) {
        case 'broken':
          return void response.destroy()
        case 'half':
          return void response.writeHead(200).write('x', () => response.destroy())
        case 'failed':
          return json(response, 500, {})
        case 'unknown':
          return json(response, 504, {})
        case 'large':
          return void response.end('x'.repeat(300_000))
        case 'hang':
          return undefined
        default:
          return json(response, 200, {})
      }
    },
  })
  let n = 0
  const end = (how: string, more: Ask = {}) =>
    ask('/run', { key: `k${n++}`, ...more, headers: { 'x-end': how, ...more.headers } }).then(
      ({ status }) => status,
      () => undefined,
    )
  const free = (after: string) => until(`a place after ${after}`, async () => (await end('well')) === 200, 2000)
  for (const how of ['well', 'broken', 'half', 'failed', 'unknown', 'large', 'hang']) {
    await end(how)
    await free(how)
    t.equal(await end(how, { headers: { prefer: 'respond-async' } }), 202)
    await free(`${how} in the background`)
  }
  const leave = new AbortController()
  const before = upstream.count()
  const left = end('hang', { signal: leave.signal })
  await upstream.arrived(before + 1)
  t.equal(await end('well'), 429)
  leave.abort()
  await left
  await free('a client that left')
})
