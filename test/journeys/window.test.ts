// Two clicks close in time are one, whatever edge of a window lies between them.
import t from 'tap'
import { type Answer, send } from '../helpers/client.ts'
import { testGateway } from '../helpers/gateway.ts'
import { gatewayProcess } from '../helpers/gateway-process.ts'
import { SHARED_STORES } from '../helpers/shared-store.ts'
import { json, latch, startUpstream } from '../helpers/upstream.ts'

const RULES = `
  - name: click
    match: { path: /click }
    owner: none
    inFlight: { answer: wait, maxWait: 10s }
    fingerprint:
      button: body.button
      at: { from: body.at, apply: [{ window: 1m }] }
`
/** The edge between two minutes. */
const EDGE = Date.UTC(2024, 4, 20, 4)

const click = (url: string, button: string, at: number): Promise<Answer> => send(`${url}/click`, { body: { button, at } })
const named = (answer: Answer): unknown => answer.headers['idempotency-fingerprint']

t.test('across an edge: replayed, held, and run again, all under the name of the record', async (t) => {
  const upstream = await startUpstream()
  t.teardown(upstream.close)
  const gateway = await testGateway({ upstream: upstream.url, rules: RULES })
  t.teardown(() => gateway.close())

  const first = await click(gateway.url, 'pay', EDGE - 2000)
  const second = await click(gateway.url, 'pay', EDGE + 2000)
  t.equal(upstream.count(), 1)
  t.equal(second.headers['idempotency-replayed'], 'true')
  t.equal(named(second), named(first))
  const { log } = gateway
  t.equal(log.filter((line) => line.fingerprint === named(first)).length, 2, 'the log names the record too')
  await click(gateway.url, 'pay', EDGE + 61_000)
  t.equal(upstream.count(), 2, 'a minute later it is another click')

  await click(gateway.url, 'late', EDGE + 2000)
  const earlier = await click(gateway.url, 'late', EDGE - 2000)
  t.equal(earlier.headers['idempotency-replayed'], 'true', 'the clock of the second client goes slow')
  t.equal(upstream.count(), 3)

  await click(gateway.url, 'apart', EDGE)
  const apart = await click(gateway.url, 'apart', EDGE + 60_000)
  t.equal(apart.headers['idempotency-replayed'], undefined, 'a whole window later, right behind the next edge')
  t.equal(upstream.count(), 5)

  const door = latch()
  upstream.handle(async (_request, response) => {
    await door.opened
    json(response, 200, { held: true })
  })
  const running = click(gateway.url, 'hold', EDGE - 1)
  await upstream.arrived(6)
  const waiting = [click(gateway.url, 'hold', EDGE + 1), click(gateway.url, 'hold', EDGE + 20_000)]
  door.open()
  const answers = await Promise.all([running, ...waiting])
  t.equal(upstream.count(), 6)
  t.equal(new Set(answers.map(named)).size, 1)
  t.ok(answers.every(({ status }) => status === 200))
})

t.test('after a failure the next attempt runs on the record of the first, and so does its settling', async (t) => {
  const upstream = await startUpstream((_request, response) => json(response, upstream.count() === 1 ? 500 : 200, {}))
  t.teardown(upstream.close)
  const gateway = await testGateway({ upstream: upstream.url, rules: RULES })
  t.teardown(() => gateway.close())
  const failed = await click(gateway.url, 'pay', EDGE - 2000)
  t.equal(failed.status, 500)
  const again = await click(gateway.url, 'pay', EDGE + 2000)
  t.equal(again.status, 200)
  t.equal(named(again), named(failed))
  t.match(upstream.received[1]?.headers, {
    'idempotency-fingerprint': named(failed),
    'idempotency-key': named(failed),
    'idempotency-attempt': '2',
  })
  for (const time of [EDGE - 2000, EDGE + 2000]) {
    const replayed = await click(gateway.url, 'pay', time)
    t.equal(replayed.headers['idempotency-replayed'], 'true')
  }
  const status = await send(`${gateway.url}/status/${String(named(failed))}`, { method: 'GET' })
  t.match(status.json(), { status: 'completed', attempt: 2 })
  t.equal(upstream.count(), 2)
})

for (const [store, open] of Object.entries(SHARED_STORES)) {
  t.test(`two gateways on one store, clicks at once on both sides of an edge: ${store}`, async (t) => {
    const shared = await open()
    t.teardown(shared.remove)
    const upstream = await startUpstream()
    t.teardown(upstream.close)
    const options = { upstream: upstream.url, store: shared.url, rules: RULES }
    const gateways = await Promise.all([gatewayProcess(options), gatewayProcess(options)])
    t.teardown(() => Promise.all(gateways.map((gateway) => gateway.kill())))
    const BUTTONS = 10
    const clicks = Array.from({ length: BUTTONS * 8 }, (_, n) =>
      click(gateways[n % 2]!.url, `button ${n % BUTTONS}`, EDGE + (n < BUTTONS * 4 ? -1 : 1) * (n + 1) * 100),
    )
    const answers = await Promise.all(clicks)
    t.equal(upstream.count(), BUTTONS)
    t.ok(answers.every(({ status }) => status === 200))
    t.equal(new Set(answers.map(named)).size, BUTTONS)
  })
}
