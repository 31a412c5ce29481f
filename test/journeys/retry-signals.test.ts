// What a refusal tells a client: when to come again, and whether at all.
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type Answer, lines } from '../helpers/client.ts'
import { fingerprintOf, replayed, stage, type Stage } from '../helpers/stage.ts'
import { within } from '../helpers/until.ts'
import { json, latch } from '../helpers/upstream.ts'

const pay = (settings: string) => `
  - name: pay
    match: { path: /pay }
    fingerprint: { key: header.idempotency-key }
    ${settings}
`

/** A payment that stays in flight until `open`, and one refused duplicate of it. */
async function inFlight(t: Test, settings: string): Promise<Stage & { open: () => void; first: Promise<Answer>; refused: Answer }> {
  const door = latch()
  const scene = await stage(t, {
    rules: pay(settings),
    handler: async (_request, response) => {
      await door.opened
      json(response, 200, { paid: true })
    },
  })
  const first = scene.ask('/pay', { key: 'k', body: {} })
  await within('the first', scene.upstream.arrived(1))
  const refused = await within('the refusal', scene.ask('/pay', { key: 'k', body: {} }))
  return { ...scene, open: door.open, first, refused }
}

for (const status of [425, 409, 423, 429, 503]) {
  t.test(`inFlight.status ${status}: the same headers and type`, async (t) => {
    const { open, first, refused, upstream } = await inFlight(t, `inFlight: { status: ${status} }`)
    t.equal(refused.status, status)
    t.match(refused.headers, {
      'oncegate-error': 'in-flight',
      'retry-after': /^[1-9]\d?$/,
      'retry-after-ms': /^[1-9]\d*$/,
      'x-should-retry': 'true',
      'stripe-should-retry': 'true',
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
    })
    const problem = refused.json()
    t.match(problem, { type: 'urn:oncegate:in-flight', status, retry: 'same-key', title: String, detail: String, message: String })
    t.match(problem.error, { type: 'urn:oncegate:in-flight', code: 'in-flight', message: problem.message })
    t.equal(problem.status_url, `/status/${fingerprintOf(refused)}`)
    open()
    await first
    t.equal(upstream.count(), 1)
  })
}

t.test('Retry-After is whole seconds, at least one; the exact time stands beside it', async (t) => {
  for (const [settings, seconds, ms] of [
    ['inFlight: { retryAfter: 1500ms }', '2', 1500],
    ['inFlight: { retryAfter: 1ms }', '1', 1],
    ['inFlight: { retryAfter: 2s }', '2', 2000],
  ] as const) {
    const { open, first, refused } = await inFlight(t, settings)
    t.equal(refused.headers['retry-after'], seconds, settings)
    t.equal(refused.headers['retry-after-ms'], String(ms))
    t.match(refused.json(), { retry_after: Number(seconds), retry_after_ms: ms })
    open()
    await first
  }
  const { open, first, refused } = await inFlight(t, 'lease: 300ms')
  t.equal(refused.headers['retry-after'], '1', 'estimated: no later than a dead gateway would be noticed')
  const { retry_after_ms: ms } = refused.json()
  t.ok(ms >= 1 && ms <= 300, String(ms))
  open()
  await first
})

t.test('a client that comes again as it is told ends with the stored answer', async (t) => {
  const { open, first, ask, upstream, refused } = await inFlight(t, 'inFlight: { retryAfter: 20ms }')
  const statuses = [refused.status]
  let last = refused
  for (let n = 0; n < 5 && last.status === 425; n++) {
    if (n === 3) {
      open()
      await first
    }
    await pause(Number(last.headers['retry-after-ms']))
    last = await ask('/pay', { key: 'k', body: {} })
    statuses.push(last.status)
  }
  t.same(statuses, [425, 425, 425, 425, 200])
  t.ok(replayed(last))
  t.same(last.body, (await first).body)
  t.equal(upstream.count(), 1)
})

t.test("the upstream's own 422 and 425 pass as they are and are told from the gateway's", async (t) => {
  const body = '{ "errors" : ["amount: too small"] }'
  const { ask, upstream } = await stage(t, {
    rules: pay(''),
    handler: ({ headers }, response) => {
      response.writeHead(Number(headers['x-answer']), { 'Content-Type': 'application/vnd.api+json', 'Oncegate-Error': 'forged' }).end(body)
    },
  })
  for (const status of [422, 425]) {
    const answer = await ask('/pay', { key: `k${status}`, headers: { 'x-answer': String(status) }, body: { n: 1 } })
    t.equal(answer.status, status)
    t.equal(answer.text, body)
    t.same(lines(answer, 'content-type'), ['application/vnd.api+json'])
    t.equal(answer.headers['oncegate-error'], undefined)
    t.equal(answer.headers['x-should-retry'], undefined)
  }
  const replay = await ask('/pay', { key: 'k422', headers: { 'x-answer': '422' }, body: { n: 1 } })
  t.equal(replay.text, body, 'a 422 is a result and is kept')
  t.ok(replayed(replay))
  const ours = await ask('/pay', { key: 'k422', headers: { 'x-answer': '422' }, body: { n: 2 } })
  t.equal(ours.status, 422)
  t.equal(ours.headers['oncegate-error'], 'key-reused')
  t.equal(upstream.count(), 2)
})

t.test('a client whose Accept names application/json alone gets that type', async (t) => {
  const { ask } = await stage(t, { rules: pay('') })
  const type = async (accept: string) => (await ask('/pay', { body: {}, headers: { accept } })).headers['content-type']
  t.equal(await type('application/json'), 'application/json')
  t.equal(await type('application/json, text/plain;q=0.5'), 'application/json')
  t.equal(await type('application/json, application/problem+json'), 'application/problem+json')
  t.equal(await type('*/*'), 'application/problem+json')
})
