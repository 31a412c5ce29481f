// Two gateway processes on one store agree: whichever a request meets, the upstream runs once.
import t from 'tap'
import { type Answer, send } from '../helpers/client.ts'
import { gatewayProcess } from '../helpers/gateway-process.ts'
import { SHARED_STORES } from '../helpers/shared-store.ts'
import { until } from '../helpers/until.ts'
import { json, latch, startUpstream } from '../helpers/upstream.ts'

const RULES = `
  - name: pay
    match: { path: /pay }
    fingerprint: { key: header.idempotency-key }
`
const AT_ONCE = 100

for (const [store, open] of Object.entries(SHARED_STORES)) {
  t.test(`two gateway processes on one store: ${store}`, async (t) => {
    const shared = await open()
    t.teardown(shared.remove)
    const door = latch()
    const upstream = await startUpstream(async (request, response) => {
      if (request.headers['idempotency-key'] === 'held') await door.opened
      json(response, 200, { paid: upstream.count() })
    })
    t.teardown(upstream.close)
    const options = { upstream: upstream.url, store: shared.url, rules: RULES }
    const gateways = await Promise.all([gatewayProcess(options), gatewayProcess(options)])
    t.teardown(() => Promise.all(gateways.map((gateway) => gateway.kill())))
    const pay = (key: string, i: number) =>
      send(`${gateways[i % 2]!.url}/pay`, { headers: { authorization: 'Bearer a', 'idempotency-key': key }, body: { amount: 1 } })
    const executions = (key: string) => upstream.received.filter((one) => one.headers['idempotency-key'] === key).length
    /** Asks again, as the 425 says, until it is no longer refused. */
    const result = async (key: string, i: number): Promise<Answer> => {
      let answer!: Answer
      await until(`the result of ${key}`, async () => (answer = await pay(key, i)).status !== 425)
      return answer
    }

    await t.test('all at once while it runs: one executes, the others are told to come back and get its answer', async (t) => {
      const early: Answer[] = []
      const asked = Array.from({ length: AT_ONCE }, async (_, i) => {
        const answer = await pay('held', i)
        if (answer.status === 425) early.push(answer)
        return answer
      })
      await until('all but one have been refused', () => early.length === AT_ONCE - 1, 10_000)
      door.open()
      const statuses = (await Promise.all(asked)).map((answer) => answer.status)
      t.same(
        statuses.toSorted((a, b) => a - b),
        [200, ...Array<number>(AT_ONCE - 1).fill(425)],
      )
      const results = await Promise.all(Array.from({ length: 10 }, (_, i) => result('held', i)))
      for (const answer of results) t.match(answer, { status: 200, text: '{"paid":1}', headers: { 'idempotency-replayed': 'true' } })
      t.equal(executions('held'), 1)
    })

    await t.test('all at once, answered at once: every answer is the result or becomes it', async (t) => {
      const answers = await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => pay('quick', i)))
      t.same(
        [...new Set(answers.map((answer) => answer.status))].filter((status) => status !== 200 && status !== 425),
        [],
      )
      const late = await Promise.all(Array.from({ length: 10 }, (_, i) => result('quick', i)))
      const texts = [...answers.filter((answer) => answer.status === 200), ...late].map((answer) => answer.text)
      t.same([...new Set(texts)], ['{"paid":2}'])
      t.equal(executions('quick'), 1)
    })

    await t.test('by turns', async (t) => {
      for (let i = 0; i < 10; i++) t.match(await pay('turns', i), { status: 200, text: '{"paid":3}' })
      t.equal(executions('turns'), 1)
    })
  })
}
