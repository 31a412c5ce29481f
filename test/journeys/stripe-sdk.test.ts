// The stripe SDK before a slow backend: one payment, and an error that is thrown as one.
import httpProxy from '@fastify/http-proxy'
import fastify from 'fastify'
import Stripe from 'stripe'
import t, { type Test } from 'tap'
import { stage } from '../helpers/stage.ts'
import { until, within } from '../helpers/until.ts'
import { type Handler, json, latch, startUpstream, type TestUpstream } from '../helpers/upstream.ts'

const PAYMENTS = `
  - name: payment-intents
    match: { path: /v1/payment_intents }
    fingerprint: { key: header.idempotency-key }
    inFlight: { answer: wait, maxWait: 20s }
`
const PAYMENT = { amount: 2000, currency: 'eur', metadata: { order: '7' } }

/** A fake of the payment API; every intent bears the number of its execution. */
function paymentApi(upstream: TestUpstream, ready: () => Promise<void>): Handler {
  return async ({ body }, response) => {
    const execution = upstream.count()
    await ready()
    const form = new URLSearchParams(body.toString())
    json(response, 200, {
      id: `pi_${execution}`,
      object: 'payment_intent',
      amount: Number(form.get('amount')),
      currency: form.get('currency'),
    })
  }
}

function sdk(url: string, options: { timeout?: number; maxNetworkRetries?: number } = {}): Stripe {
  const { hostname, port } = new URL(url)
  return new Stripe('sk_test_123', { host: hostname, port, protocol: 'http', telemetry: false, timeout: 10_000, ...options })
}

async function scene(t: Test, through: 'gateway' | 'bare proxy') {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const door = latch()
  upstream.handle(paymentApi(upstream, () => door.opened))
  if (through === 'gateway') {
    const { gateway, ask } = await stage(t, { rules: PAYMENTS, upstream })
    return { upstream, door, url: gateway.url, log: gateway.log, ask }
  }
  const proxy = fastify()
  await proxy.register(httpProxy, { upstream: upstream.url })
  t.teardown(() => proxy.close())
  return { upstream, door, url: await proxy.listen({ port: 0, host: '127.0.0.1' }), log: [], ask: undefined }
}

t.test('a time-out with automatic retry pays once', async (t) => {
  const { upstream, door, url, ask } = await scene(t, 'gateway')
  const paying = sdk(url, { timeout: 1000, maxNetworkRetries: 3 }).paymentIntents.create(PAYMENT)
  await within('the first attempt', upstream.arrived(1))
  // The door opens when the retry has been met: the record counts it as a duplicate.
  const fingerprint = String(upstream.received[0]!.headers['idempotency-fingerprint'])
  await until('the retry', async () => (await ask!(`/status/${fingerprint}`, { method: 'GET' })).json().duplicates > 0, 8000)
  door.open()
  t.match(await within('the payment', paying, 10_000), { id: 'pi_1', amount: 2000, currency: 'eur' })
  t.equal(upstream.count(), 1)
  t.match(upstream.received[0]!.headers['idempotency-key'], /^stripe-node-retry-/)
})

t.test('a bare proxy before the same backend pays twice', async (t) => {
  const { upstream, door, url } = await scene(t, 'bare proxy')
  const paying = sdk(url, { timeout: 1000, maxNetworkRetries: 3 }).paymentIntents.create(PAYMENT)
  await within('a second execution', upstream.arrived(2), 8000)
  door.open()
  t.match(await within('the payment', paying, 10_000), { id: 'pi_2' })
  t.equal(upstream.count(), 2)
})

t.test("a double click with the application's key pays once, and both get the payment", async (t) => {
  const { upstream, door, url, ask } = await scene(t, 'gateway')
  // Without retries, so that it is the gateway that holds the second.
  const click = () => sdk(url, { maxNetworkRetries: 0 }).paymentIntents.create(PAYMENT, { idempotencyKey: 'order-7' })
  const first = click()
  await within('the first', upstream.arrived(1))
  const second = click()
  const fingerprint = String(upstream.received[0]!.headers['idempotency-fingerprint'])
  await until('the second click', async () => (await ask!(`/status/${fingerprint}`, { method: 'GET' })).json().duplicates > 0)
  door.open()
  const [one, two] = await within('both', Promise.all([first, second]), 10_000)
  t.equal(one.id, 'pi_1')
  t.equal(two.id, 'pi_1')
  t.equal(upstream.count(), 1)
})

t.test('a key used for another payment is thrown, and not taken for one', async (t) => {
  const { upstream, door, url, log } = await scene(t, 'gateway')
  door.open()
  const client = sdk(url, { maxNetworkRetries: 2 })
  await client.paymentIntents.create(PAYMENT, { idempotencyKey: 'order-7' })
  const error = await client.paymentIntents.create({ ...PAYMENT, amount: 9900 }, { idempotencyKey: 'order-7' }).then(
    (payment) => payment,
    (thrown: unknown) => thrown,
  )
  t.ok(error instanceof Stripe.errors.StripeError, 'thrown')
  t.match(error, { statusCode: 422, code: 'key-reused', message: /another content/ })
  await until('both are logged', () => log.length >= 2)
  t.equal(log.filter(({ outcome }) => outcome === 'key-reused').length, 1, 'and not retried')
  t.equal(upstream.count(), 1)
})

t.test('an outcome that nobody knows is thrown too', async (t) => {
  const { upstream, door, url } = await scene(t, 'gateway')
  door.open()
  upstream.handle((_request, response) => void response.destroy())
  const client = sdk(url, { maxNetworkRetries: 2 })
  const pay = () =>
    client.paymentIntents.create(PAYMENT, { idempotencyKey: 'order-7' }).then(
      (payment) => payment,
      (thrown: unknown) => thrown,
    )
  t.match(await pay(), { statusCode: 502, code: 'upstream-broken' })
  t.match(await pay(), { statusCode: 409, code: 'outcome-unknown' })
  t.equal(upstream.count(), 1, 'never again by itself')
})
