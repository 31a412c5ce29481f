// What clients make of the gateway's refusals: each is thrown, never taken for a result, and says why where the client shows it.
import OpenAI from 'openai'
import Stripe from 'stripe'
import t, { type Test } from 'tap'
import { stage } from '../helpers/stage.ts'
import { until, within } from '../helpers/until.ts'
import { json, latch } from '../helpers/upstream.ts'
import { setScene } from './clients/scene.ts'
import { CLIENTS, ROWS_AT_ONCE } from './clients/table.ts'

const GIVE_UP_MS = 2500
const LIMIT_MS = 20_000

t.test('a backend that breaks off after it has begun', async (t) => {
  t.jobs = ROWS_AT_ONCE
  for (const client of CLIENTS) {
    t.test(client.name, { buffered: true }, async (t) => {
      const scene = await setScene(client, 'gateway', 'broken', refusing)
      t.teardown(() => scene.close())
      scene.backend.begin()
      const call = await client.open(scene.url, client.neverGivesUp && GIVE_UP_MS)
      const error = await within('the end', thrownBy(call), LIMIT_MS)
      t.ok(error instanceof Error, `thrown: ${String(error)}`)
      if (client.showsNoReason !== true) t.match(String(error), /may have (been executed|happened)/)
      t.equal(scene.backend.executions.length, 1, 'never again by itself, however often the client comes')
    })
  }
})

/** Some presets say that a lost answer may be asked for again: then it would be executed, and not refused. */
function refusing(preset: string): string {
  return preset.replaceAll('onUnknown: retry', 'onUnknown: refuse')
}

/** What a call throws; what it resolves with is no error. */
function thrownBy(call: () => Promise<unknown>): Promise<unknown> {
  return call().then(
    (result) => `resolved with ${JSON.stringify(result)}`,
    (error: unknown) => error,
  )
}

const MODEL = { model: 'test', messages: [{ role: 'user' as const, content: 'Write it down.' }] }

async function chat(t: Test, rules?: string) {
  const door = latch()
  const scene = await stage(t, {
    ...(rules === undefined ? {} : { rules }),
    handler: async (_request, response) => {
      await door.opened
      json(response, 200, { id: 'chatcmpl-1', choices: [{ index: 0, message: { role: 'assistant', content: 'Done.' } }] })
    },
  })
  const statuses: number[] = []
  const client = new OpenAI({
    baseURL: `${scene.gateway.url}/v1`,
    apiKey: 'test',
    fetch: async (input, init) => {
      const response = await fetch(input, init)
      statuses.push(response.status)
      return response
    },
  })
  return { ...scene, door, client, statuses }
}

t.test('openai: a key used for something else is thrown, with its reason, and not retried', async (t) => {
  const { upstream, door, client, statuses } = await chat(t)
  door.open()
  const options = { headers: { 'Idempotency-Key': 'k1' } }
  await client.chat.completions.create(MODEL, options)
  const error = await thrownBy(() => client.chat.completions.create({ ...MODEL, model: 'other' }, options))
  t.ok(error instanceof OpenAI.APIError)
  t.match(error, { status: 422, code: 'key-reused', message: /another content.*\/model/ })
  t.same(statuses, [200, 422], 'one attempt each')
  t.equal(upstream.count(), 1)
})

t.test('openai: a refusal in flight is retried, where the rule gives no wait', async (t) => {
  const rules = `
  - name: chat
    match: { path: /v1/chat/completions }
    fingerprint: { request: body }
    inFlight: { retryAfter: 50ms }
`
  const { upstream, door, client, statuses } = await chat(t, rules)
  const first = client.chat.completions.create(MODEL)
  await within('the first', upstream.arrived(1))
  const second = client.chat.completions.create(MODEL)
  await until('the refusal', () => statuses.length > 0)
  door.open()
  const [one, two] = await within('both', Promise.all([first, second]), 10_000)
  t.same([one.choices[0]?.message.content, two.choices[0]?.message.content], ['Done.', 'Done.'])
  t.equal(statuses[0], 425)
  t.same(statuses.slice(-2), [200, 200])
  t.equal(upstream.count(), 1)
})

t.test('stripe: a key used for another payment is thrown, and neither taken for one nor retried', async (t) => {
  const { gateway, upstream } = await stage(t, { handler: (_request, response) => json(response, 200, { id: 'pi_1' }) })
  const { hostname, port } = new URL(gateway.url)
  const client = new Stripe('sk_test_123', { host: hostname, port, protocol: 'http' })
  const pay = (amount: number) => client.paymentIntents.create({ amount, currency: 'eur' }, { idempotencyKey: 'order-7' })
  await pay(2000)
  const error = await thrownBy(() => pay(9900))
  t.ok(error instanceof Stripe.errors.StripeError, 'thrown')
  t.match(error, { statusCode: 422, code: 'key-reused', message: /another content/ })
  await until('both are logged', () => gateway.log.length >= 2)
  t.equal(gateway.log.filter(({ outcome }) => outcome === 'key-reused').length, 1, 'and not retried')
  t.equal(upstream.count(), 1)
})
