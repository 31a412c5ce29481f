// Prefer: wait=N — a client may ask to be held until the result is there.
import t, { type Test } from 'tap'
import { replayed, stage } from '../helpers/stage.ts'
import { until, within } from '../helpers/until.ts'
import { json, latch } from '../helpers/upstream.ts'

async function scene(t: Test, inFlight: string) {
  const door = latch()
  const made = await stage(t, {
    rules: `
  - name: pay
    match: { path: /pay }
    fingerprint: { key: header.idempotency-key }
    inFlight: ${inFlight}
`,
    handler: async (_request, response) => {
      await door.opened
      json(response, 200, { paid: true })
    },
  })
  const first = made.ask('/pay', { key: 'k', body: {} })
  await within('the first', made.upstream.arrived(1))
  const again = (prefer?: string) => made.ask('/pay', { key: 'k', body: {}, ...(prefer === undefined ? {} : { headers: { prefer } }) })
  const page = `/status/${String(made.upstream.received[0]!.headers['idempotency-fingerprint'])}`
  /** Resolves when the gateway has met so many duplicates: those that were not answered are held. */
  const met = (n: number) => until(`${n} duplicates`, async () => (await made.ask(page, { method: 'GET' })).json().duplicates === n)
  return { ...made, first, again, met, open: door.open }
}

t.test('held until the result, whatever the rule says', async (t) => {
  const { first, again, met, open, upstream, gateway } = await scene(t, '{ answer: refuse }')
  t.equal((await again()).status, 425)
  const held = [again('wait=10'), again('respond-async, wait = "10"'), again('WAIT=10; a=b')]
  t.equal((await again()).status, 425, 'the others are still refused')
  await met(5)
  t.equal(gateway.log.filter(({ outcome }) => outcome === 'replayed').length, 0)
  open()
  for (const answer of await within('the held', Promise.all(held))) {
    t.equal(answer.status, 200)
    t.ok(replayed(answer))
    t.equal(answer.headers['preference-applied'], 'wait=10')
    t.same(answer.body, (await first).body)
  }
  const later = await again('wait=10')
  t.ok(replayed(later))
  t.equal((await first).headers['preference-applied'], undefined, 'whoever was not held is not told so')
  t.equal(upstream.count(), 1)
})

t.test('no longer than N, and no longer than maxWait', async (t) => {
  const { first, again, open, upstream } = await scene(t, '{ answer: refuse, maxWait: 1200ms }')
  for (const [prefer, applied] of [
    ['wait=1', 'wait=1'],
    ['wait=3600', 'wait=1'],
  ] as const) {
    const asked = performance.now()
    const answer = await within(prefer, again(prefer), 4000)
    t.ok(performance.now() - asked >= 990, 'it was held')
    t.equal(answer.status, 425)
    t.equal(answer.headers['preference-applied'], applied)
    t.match(answer.headers['retry-after'], /^[1-9]\d*$/)
  }
  open()
  await first
  t.equal(upstream.count(), 1)
})

t.test('wait=0 is an answer at once where the rule would wait; what is no number changes nothing', async (t) => {
  const { first, again, met, open, upstream } = await scene(t, '{ answer: wait, maxWait: 20s }')
  t.equal((await within('wait=0', again('wait=0'))).status, 425)
  const held = [again('wait=soon'), again('wait=-1'), again()]
  await met(4)
  open()
  for (const answer of await within('the held', Promise.all(held))) {
    t.ok(replayed(answer))
    t.equal(answer.headers['preference-applied'], undefined)
  }
  await first
  t.equal(upstream.count(), 1)
})
