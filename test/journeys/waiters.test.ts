// Duplicates that wait, on two gateways of one store: woken at once, one successor at a time, free to leave.
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { recordKeys } from '../../src/stores/redis/keys.ts'
import { type Answer, send } from '../helpers/client.ts'
import { testGateway, type TestGateway } from '../helpers/gateway.ts'
import { RedisServer } from '../helpers/redis-server.ts'
import { SHARED_STORES } from '../helpers/shared-store.ts'
import { until, within } from '../helpers/until.ts'
import { json, latch, startUpstream, type TestUpstream } from '../helpers/upstream.ts'

const RULES = `
  - name: pay
    match: { path: /pay }
    fingerprint: { key: header.idempotency-key }
    inFlight: { answer: wait, maxWait: 10s }
  - name: brief
    match: { path: /brief }
    fingerprint: { key: header.idempotency-key }
    inFlight: { answer: wait, maxWait: 2s }
`

interface House {
  upstream: TestUpstream
  gateways: TestGateway[]
  ask: (path: string, key: string, i: number, signal?: AbortSignal) => Promise<Answer>
  /** What the status page says of the record. */
  status: (key: string) => Promise<any>
}

async function house(t: Test, store: string): Promise<House> {
  const upstream = await startUpstream()
  t.teardown(upstream.close)
  const gateways = await Promise.all([0, 1].map(() => testGateway({ upstream: upstream.url, rules: RULES, store })))
  t.teardown(() => Promise.all(gateways.map((gateway) => gateway.close())))
  return {
    upstream,
    gateways,
    ask: (path, key, i, signal) =>
      send(`${gateways[i % 2]!.url}${path}`, {
        headers: { authorization: 'Bearer a', 'idempotency-key': key },
        body: { key },
        ...(signal === undefined ? {} : { signal }),
      }),
    status: async (key) => {
      const fingerprint = upstream.received.find((one) => one.headers['idempotency-key'] === key)?.headers['idempotency-fingerprint']
      return (await send(`${gateways[1]!.url}/status/${String(fingerprint)}`, { method: 'GET' })).json()
    },
  }
}

const WOKEN_WITHIN_MS = { redis: 50, lmdb: 100, postgres: 50 }

for (const store of ['redis', 'lmdb', 'postgres'] as const) {
  t.test(`one who waits at another gateway is woken at once: ${store}`, async (t) => {
    const shared = await SHARED_STORES[store]()
    t.teardown(shared.remove)
    const { upstream, ask, status } = await house(t, shared.url)
    const delays: number[] = []
    for (let round = 1; round <= 7; round++) {
      const door = latch()
      upstream.handle(async (_request, response) => {
        await door.opened
        json(response, 200, { round })
      })
      const first = ask('/pay', `k${round}`, 0)
      await within('the execution', upstream.arrived(round))
      const waiter = ask('/pay', `k${round}`, 1).then((answer) => ({ answer, at: performance.now() }))
      await until('the duplicate is there', async () => (await status(`k${round}`)).duplicates === 1)
      door.open()
      await first
      const answered = performance.now()
      const { answer, at } = await within('the answer to who waited', waiter)
      t.match(answer, { status: 200, text: `{"round":${round}}`, headers: { 'idempotency-replayed': 'true' } })
      delays.push(at - answered)
    }
    const median = delays.toSorted((a, b) => a - b)[3]!
    t.ok(median < WOKEN_WITHIN_MS[store], `the median of ${delays.map(Math.round).join(', ')} ms`)
    t.equal(upstream.count(), 7)
  })
}

t.test('waiters on one Redis', async (t) => {
  const redis = await RedisServer.start()
  t.teardown(() => redis.stop())
  const { upstream, gateways, ask, status } = await house(t, redis.url)
  const executions = (key: string) => upstream.received.filter((one) => one.headers['idempotency-key'] === key).length

  await t.test('after a failure exactly one of ten executes, the others get its answer', async (t) => {
    const doors = [latch(), latch()]
    let running = 0
    let most = 0
    upstream.handle(async (request, response) => {
      most = Math.max(most, ++running)
      const attempt = Number(request.headers['idempotency-attempt'])
      await doors[attempt - 1]?.opened
      running--
      json(response, attempt === 1 ? 503 : 200, { attempt })
    })
    const first = ask('/pay', 'ten', 0)
    await until('the execution', () => executions('ten') === 1)
    const waiters = Array.from({ length: 10 }, (_, i) => ask('/pay', 'ten', i))
    await until('ten wait', async () => (await status('ten')).duplicates === 10)
    doors[0]!.open()
    t.equal((await first).status, 503)
    await until('the successor executes', () => executions('ten') === 2)
    // Time for everybody else to be woken by the failure.
    await new Promise((resolve) => setTimeout(resolve, 150))
    doors[1]!.open()
    const answers = await within('all answers', Promise.all(waiters))
    t.same([...new Set(answers.map((answer) => `${answer.status} ${answer.text}`))], ['200 {"attempt":2}'])
    t.equal(answers.filter((answer) => answer.headers['idempotency-replayed'] === 'true').length, 9)
    t.equal(executions('ten'), 2)
    t.equal(most, 1, 'never two at once')
  })

  await t.test('they may leave at any time: the others get the answer', async (t) => {
    const door = latch()
    upstream.handle(async (_request, response) => {
      await door.opened
      json(response, 200, { done: true })
    })
    const first = ask('/pay', 'twenty', 0)
    await until('the execution', () => executions('twenty') === 1)
    const leaving = new AbortController()
    const gone = Array.from({ length: 10 }, (_, i) => t.rejects(ask('/pay', 'twenty', i, leaving.signal)))
    const staying = Array.from({ length: 10 }, (_, i) => ask('/pay', 'twenty', i))
    await until('twenty wait', async () => (await status('twenty')).duplicates === 20)
    leaving.abort()
    await Promise.all(gone)
    door.open()
    const answers = await within('the answers of who stayed', Promise.all([first, ...staying]))
    t.same([...new Set(answers.map((answer) => `${answer.status} ${answer.text}`))], ['200 {"done":true}'])
    t.equal(executions('twenty'), 1)
  })

  await t.test('one whose client has left never executes', async (t) => {
    const door = latch()
    upstream.handle(async (_request, response) => {
      await door.opened
      json(response, 503, {})
    })
    const first = ask('/pay', 'left', 0)
    await until('the execution', () => executions('left') === 1)
    const leaving = new AbortController()
    const gone = t.rejects(ask('/pay', 'left', 1, leaving.signal))
    await until('one waits', async () => (await status('left')).duplicates === 1)
    const before = gateways[1]!.log.length
    leaving.abort()
    await gone
    await until('the waiting has ended', () => gateways[1]!.log.length > before, 900)
    door.open()
    t.equal((await first).status, 503)
    t.match(await status('left'), { status: 'failed', attempt: 1 })
    t.equal(executions('left'), 1)
  })

  await t.test('where every execution fails they do not queue up past their limit', async (t) => {
    let running = 0
    let most = 0
    upstream.handle(async (_request, response) => {
      most = Math.max(most, ++running)
      await new Promise((resolve) => setTimeout(resolve, 500))
      running--
      json(response, 503, {})
    })
    const began = performance.now()
    const answers = await Promise.all(Array.from({ length: 21 }, (_, i) => ask('/brief', 'failing', i)))
    const tookMs = performance.now() - began
    t.ok(tookMs < 2900, `everybody has an answer after ${tookMs} ms`)
    t.same(
      [...new Set(answers.map((answer) => answer.status))].toSorted((a, b) => a - b),
      [425, 503],
    )
    t.ok(executions('failing') <= 5, `${executions('failing')} executions`)
    t.equal(most, 1, 'never two at once')
  })

  await t.test('a record that is gone is acquired anew, and only while no lease lives', async (t) => {
    const client = new Redis(redis.url)
    t.teardown(() => client.disconnect())
    const doors = [latch(), latch()]
    upstream.handle(async (_request, response) => {
      const n = executions('evicted')
      await doors[n - 1]?.opened
      json(response, 200, { n })
    })
    const first = ask('/brief', 'evicted', 0)
    await until('the execution', () => executions('evicted') === 1)
    const fingerprint = String(upstream.received.at(-1)!.headers['idempotency-fingerprint'])
    await client.del(recordKeys(fingerprint)[0])
    const calls = async () => Number(/total_commands_processed:(\d+)/.exec(await client.info('stats'))?.[1])
    const before = await calls()
    const held = await ask('/brief', 'evicted', 1)
    t.equal(held.status, 425, 'the lease alone refuses')
    t.equal(executions('evicted'), 1)
    const made = (await calls()) - before
    t.ok(made < 200, `waiting costs few commands: ${made}`)

    doors[0]!.open()
    t.equal((await first).status, 425, 'its result could not be stored')
  })

  await t.test('a store that has forgotten everything: one of the waiters executes', async (t) => {
    const client = new Redis(redis.url)
    t.teardown(() => client.disconnect())
    const doors = [latch(), latch()]
    upstream.handle(async (_request, response) => {
      const n = executions('lost')
      await doors[n - 1]?.opened
      json(response, 200, { n })
    })
    const first = ask('/pay', 'lost', 0)
    await until('the execution', () => executions('lost') === 1)
    const waiters = Array.from({ length: 20 }, (_, i) => ask('/pay', 'lost', i))
    await until('twenty wait', async () => (await status('lost')).duplicates === 20)
    await client.flushall()
    await until('one of them executes', () => executions('lost') === 2)
    doors[0]!.open()
    t.equal((await first).status, 425, 'the result of who lost the claim does not count')
    doors[1]!.open()
    const answers = await within('all answers', Promise.all(waiters))
    t.same([...new Set(answers.map((answer) => `${answer.status} ${answer.text}`))], ['200 {"n":2}'])
    t.equal(executions('lost'), 2)
  })
})
