// onUnknown: ask, with two gateway processes on one Redis: each may ask, and whatever they are told, nothing runs twice.
import type http from 'node:http'
import t from 'tap'
import { type Answer, send } from '../helpers/client.ts'
import { gatewayProcess, type GatewayProcess } from '../helpers/gateway-process.ts'
import { RedisServer } from '../helpers/redis-server.ts'
import { until, within } from '../helpers/until.ts'
import { json, latch, type Received, startUpstream } from '../helpers/upstream.ts'

const RULES = `
  - name: run
    match: { path: /runs/:id }
    fingerprint: { id: path.id }
    lease: 1s
    onUnknown: { ask: { path: '/runs/{path.id}', executed: [200], notExecuted: [404], timeout: 2s, backoff: 100ms } }
`

function ask(gateway: GatewayProcess, id: string): Promise<Answer> {
  return send(`${gateway.url}/runs/${id}`, { headers: { authorization: 'Bearer a' } })
}

t.test('two gateways on one Redis', async (t) => {
  const redis = await RedisServer.start()
  t.teardown(() => redis.stop())
  const upstream = await startUpstream()
  t.teardown(upstream.close)
  const start = async (): Promise<GatewayProcess> => {
    const gateway = await gatewayProcess({ upstream: upstream.url, store: redis.url, rules: RULES })
    t.teardown(() => gateway.kill())
    return gateway
  }
  const [one, other] = await Promise.all([start(), start()])
  const requests = (method: string, id: string): Received[] =>
    upstream.received.filter((each) => each.method === method && each.url === `/runs/${id}`)
  /** Attempts up to this number break off; questions are answered by `reply`. */
  const handle = (breaking: number, reply: (response: http.ServerResponse) => unknown): void =>
    upstream.handle(async (request, response) => {
      if (request.method === 'GET') return void (await reply(response))
      if (Number(request.headers['idempotency-attempt']) <= breaking) response.destroy()
      else json(response, 200, { attempt: request.headers['idempotency-attempt'] })
    })

  await t.test('it happened: both ask at most once, and both replay one answer', async (t) => {
    const door = latch()
    handle(1, async (response) => {
      await door.opened
      json(response, 200, { said: true })
    })
    t.equal((await ask(one, 'happened')).status, 502)
    const all = [one, other, one, other, one, other].map((gateway) => ask(gateway, 'happened'))
    await until('both ask', () => requests('GET', 'happened').length === 2)
    door.open()
    for (const answer of await Promise.all(all))
      t.match(answer, { status: 200, text: '{"said":true}', headers: { 'idempotency-replayed': 'true' } })
    t.equal(requests('POST', 'happened').length, 1)
    t.equal(requests('GET', 'happened').length, 2)
  })

  await t.test('it has not: both are told so, and one of them executes', async (t) => {
    const door = latch()
    handle(1, async (response) => {
      await door.opened
      json(response, 404, {})
    })
    t.equal((await ask(one, 'not')).status, 502)
    const all = [one, other, one, other, one, other].map((gateway) => ask(gateway, 'not'))
    await until('both ask', () => requests('GET', 'not').length === 2)
    door.open()
    for (const { status } of await Promise.all(all)) t.ok(status === 200 || status === 425, String(status))
    for (const gateway of [one, other]) t.match(await ask(gateway, 'not'), { status: 200, text: '{"attempt":"2"}' })
    t.same(
      requests('POST', 'not').map(({ headers }) => headers['idempotency-attempt']),
      ['1', '2'],
    )
  })

  await t.test('the upstream cannot say yet: the late answer of the execution itself is the result', async (t) => {
    const door = latch()
    upstream.handle(async (request, response) => {
      if (request.method === 'GET') return json(response, 202, { running: true })
      await door.opened
      json(response, 200, { late: true })
    })
    const first = ask(one, 'late')
    await until('the execution', () => requests('POST', 'late').length === 1)
    one.pause()
    let answer!: Answer
    await until('its lease is over', async () => (answer = await ask(other, 'late')).status === 409)
    t.match(answer.headers, { 'oncegate-error': 'outcome-unknown' })
    one.resume()
    door.open()
    t.match(await within('the first answer', first), { status: 200, text: '{"late":true}' })
    t.match(await ask(other, 'late'), { status: 200, text: '{"late":true}', headers: { 'idempotency-replayed': 'true' } })
    t.equal(requests('POST', 'late').length, 1)
  })

  await t.test('it has not, but the execution answers all the same: it comes too late, and its client is told', async (t) => {
    const door = latch()
    upstream.handle(async (request, response) => {
      if (request.method === 'GET') return json(response, 404, {})
      const attempt = request.headers['idempotency-attempt']
      if (attempt === '1') await door.opened
      json(response, 200, { attempt })
    })
    const first = ask(one, 'stale')
    await until('the execution', () => requests('POST', 'stale').length === 1)
    one.pause()
    await until('the next attempt', async () => (await ask(other, 'stale')).status === 200)
    one.resume()
    door.open()
    t.equal((await within('the first answer', first)).status, 425, 'its result is not the one that counts')
    for (const gateway of [one, other]) t.match(await ask(gateway, 'stale'), { status: 200, text: '{"attempt":"2"}' })
    t.equal(requests('POST', 'stale').length, 2)
  })

  await t.test('a gateway that is killed while it asks leaves nothing behind: the other asks by itself', async (t) => {
    let hang = true
    handle(1, (response) => (hang ? undefined : json(response, 200, { said: true })))
    t.equal((await ask(one, 'killed')).status, 502)
    const lost = t.rejects(ask(one, 'killed'))
    await until('the question', () => requests('GET', 'killed').length === 1)
    await one.kill()
    await lost
    hang = false
    t.match(await ask(other, 'killed'), { status: 200, text: '{"said":true}' })
    t.equal(requests('POST', 'killed').length, 1)
  })
})
