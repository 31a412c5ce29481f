// A gateway that dies or stands still in the middle of an execution: noticed within its lease, never executed twice by itself.
import t from 'tap'
import { type Answer, send } from '../helpers/client.ts'
import { type GatewayProcess, gatewayProcess } from '../helpers/gateway-process.ts'
import { SHARED_STORES } from '../helpers/shared-store.ts'
import { until, within } from '../helpers/until.ts'
import { json, latch, startUpstream } from '../helpers/upstream.ts'

const LEASE_MS = 1000
const RULES = ['careful', 'again', 'long', 'settled']
  .map(
    (name) => `
  - name: ${name}
    match: { path: /${name} }
    fingerprint: { key: header.idempotency-key }
    lease: ${name === 'long' ? 600 : LEASE_MS}ms
    onUnknown: ${name === 'again' ? 'retry' : 'refuse'}
`,
  )
  .join('')

function ask(gateway: GatewayProcess, path: string, key: string, headers: Record<string, string> = {}): Promise<Answer> {
  return send(`${gateway.url}${path}`, { headers: { authorization: 'Bearer a', 'idempotency-key': key, ...headers }, body: { key } })
}

for (const [store, open] of Object.entries(SHARED_STORES)) {
  t.test(`two gateways on one store: ${store}`, async (t) => {
    const shared = await open()
    t.teardown(shared.remove)
    const upstream = await startUpstream()
    t.teardown(upstream.close)
    const start = async (): Promise<GatewayProcess> => {
      const gateway = await gatewayProcess({ upstream: upstream.url, store: shared.url, rules: RULES })
      t.teardown(() => gateway.kill())
      return gateway
    }
    const [owner, other] = await Promise.all([start(), start()])

    await t.test('work far longer than the lease is executed once while its owner lives', async (t) => {
      const door = latch()
      upstream.handle(async (_request, response) => {
        await door.opened
        json(response, 200, { done: true })
      })
      const first = ask(owner, '/long', 'k')
      await within('the execution', upstream.arrived(1))
      const statuses = new Set<number>()
      const began = performance.now()
      // A third of the lease is 200 ms: more than ten renewals.
      while (performance.now() - began < 2400) {
        for (const answer of await Promise.all([ask(owner, '/long', 'k'), ask(other, '/long', 'k')])) statuses.add(answer.status)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      t.same([...statuses], [425])
      door.open()
      t.equal((await first).status, 200)
      t.match(await ask(other, '/long', 'k'), { status: 200, headers: { 'idempotency-replayed': 'true' } })
      t.equal(upstream.count('/long'), 1)
    })

    await t.test('an owner that stood still longer than its lease cannot overwrite its successor', async (t) => {
      const doors = [latch(), latch()]
      const arrived = latch()
      upstream.handle(async (request, response) => {
        const attempt = Number(request.headers['idempotency-attempt'])
        if (attempt === 2) arrived.open()
        await doors[attempt - 1]!.opened
        json(response, 200, { attempt })
      })
      const first = ask(owner, '/again', 'stopped')
      await until('the first execution', () => upstream.count('/again') === 1)
      owner.pause()
      let second!: Promise<Answer>
      await until('the other takes over', async () => {
        second = ask(other, '/again', 'stopped')
        await Promise.race([second, arrived.opened])
        return upstream.count('/again') === 2
      })
      owner.resume()
      doors[0]!.open()
      const late = await within('the answer to the first client', first)
      t.equal(late.status, 425, 'its result is not the one that counts')
      t.equal((await ask(owner, '/again', 'stopped')).status, 425, 'the successor still holds the record')
      t.equal((await ask(other, '/again', 'stopped')).status, 425)
      doors[1]!.open()
      t.same((await second).json(), { attempt: 2 })
      t.match(await ask(owner, '/again', 'stopped'), { status: 200, text: '{"attempt":2}', headers: { 'idempotency-replayed': 'true' } })
      t.equal(upstream.count('/again'), 2)
      // The log is written in batches.
      const refused = (line: Record<string, unknown>) => String(line.msg).includes('a later execution holds the record')
      await until('the refused settle in the log', () => owner.log.some(refused))
    })

    await t.test('a killed one leaves an unknown outcome, and what was settled stays', async (t) => {
      const before = upstream.count()
      // The first attempt of each never ends.
      upstream.handle((request, response) => {
        const attempt = Number(request.headers['idempotency-attempt'])
        if (attempt > 1 || request.url === '/settled') json(response, 200, { attempt, key: request.headers['idempotency-key'] })
      })
      const settled = await Promise.all(Array.from({ length: 10 }, (_, i) => ask(owner, '/settled', `s${i}`)))
      t.same([...new Set(settled.map((answer) => answer.status))], [200])

      const broken = ['/careful', '/again'].map((path) => t.rejects(ask(owner, path, 'killed')))
      await within('both executions', upstream.arrived(before + 12))
      t.equal((await ask(other, '/careful', 'killed')).status, 425, 'in flight while its owner lives')
      await owner.kill()
      const killed = performance.now()
      const held = ask(other, '/careful', 'killed', { prefer: 'wait=10' })
      await Promise.all(broken)
      const outcome = async (path: string): Promise<{ answer: Answer; afterMs: number }> => {
        let answer!: Answer
        await until(`the outcome of ${path}`, async () => (answer = await ask(other, path, 'killed')).status !== 425, LEASE_MS + 2000)
        return { answer, afterMs: performance.now() - killed }
      }
      const [careful, again] = await Promise.all([outcome('/careful'), outcome('/again')])
      t.equal(careful.answer.status, 409)
      t.match(careful.answer.headers, { 'oncegate-error': 'outcome-unknown', 'x-should-retry': 'false' })
      t.ok(careful.afterMs < LEASE_MS + 1000, `noticed after ${careful.afterMs} ms`)
      t.equal((await within('whoever waited', held, 3000)).status, 409)
      t.match(again.answer, { status: 200, text: '{"attempt":2,"key":"killed"}' })
      t.ok(again.afterMs < LEASE_MS + 1000, `executed again after ${again.afterMs} ms`)
      t.equal(upstream.count('/careful'), 1)

      await other.kill()
      const third = await start()
      const replayed = await Promise.all(settled.map((_, i) => ask(third, '/settled', `s${i}`)))
      t.same(
        replayed.map((answer) => [answer.status, answer.text, answer.headers['idempotency-replayed']]),
        settled.map((answer) => [200, answer.text, 'true']),
      )
      t.match(await ask(third, '/again', 'killed'), { status: 200, text: again.answer.text, headers: { 'idempotency-replayed': 'true' } })
      t.equal(upstream.count('/settled'), 10)
    })
  })
}
