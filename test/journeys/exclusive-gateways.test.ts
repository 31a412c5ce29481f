// Exclusive groups over two gateway processes on one store: one execution at a time in order of arrival, whoever dies meanwhile.
import t from 'tap'
import { type Answer, send } from '../helpers/client.ts'
import { type GatewayProcess, gatewayProcess } from '../helpers/gateway-process.ts'
import { SHARED_STORES } from '../helpers/shared-store.ts'
import { until, within } from '../helpers/until.ts'
import { json, latch, startUpstream } from '../helpers/upstream.ts'

const LEASE_MS = 1000
const RULES = `
  - name: run
    match: { path: /tasks/:task/runs }
    fingerprint: { step: body.step }
    exclusive: { by: [path.task], whenBusy: wait }
    inFlight: { maxWait: 60s }
    lease: ${LEASE_MS}ms
    async: true
`
const AT_ONCE = 50

function run(gateway: GatewayProcess, task: string, step: string, headers: Record<string, string> = {}): Promise<Answer> {
  return send(`${gateway.url}/tasks/${task}/runs`, { headers: { authorization: 'Bearer a', ...headers }, body: { step }, timeout: 60_000 })
}

for (const [store, open] of Object.entries(SHARED_STORES)) {
  t.test(`two gateways on one store: ${store}`, async (t) => {
    const shared = await open()
    t.teardown(shared.remove)
    let running = 0
    let most = 0
    let door: Promise<void> = Promise.resolve()
    /** Steps whose execution never ends. */
    const stuck = new Set<string>()
    const upstream = await startUpstream(async (request, response) => {
      const { step } = JSON.parse(request.body.toString()) as { step: string }
      if (stuck.has(step)) return
      most = Math.max(most, ++running)
      await door
      // Long enough for whoever thinks that it is its turn as well.
      await new Promise((resolve) => setTimeout(resolve, 5))
      running--
      json(response, 200, { step })
    })
    t.teardown(upstream.close)
    const start = async (): Promise<GatewayProcess> => {
      const gateway = await gatewayProcess({ upstream: upstream.url, store: shared.url, rules: RULES })
      t.teardown(() => gateway.kill())
      return gateway
    }
    const gateways = await Promise.all([start(), start()])
    const steps = (task: string) =>
      upstream.received.filter(({ url }) => url === `/tasks/${task}/runs`).map(({ body }) => JSON.parse(body.toString()).step as string)

    await t.test(`${AT_ONCE} at once are executed one after another, each once`, async (t) => {
      most = 0
      const answers = await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => run(gateways[n % 2]!, 'many', `s${n}`)))
      t.same([...new Set(answers.map(({ status }) => status))], [200])
      t.equal(most, 1)
      t.equal(new Set(steps('many')).size, AT_ONCE)
      t.equal(steps('many').length, AT_ONCE)
    })

    await t.test('in order of arrival, whichever gateway they came to', async (t) => {
      most = 0
      const opened = latch()
      door = opened.opened
      const before = upstream.count()
      const first = run(gateways[0], 'ordered', 'first')
      await within('the execution', upstream.arrived(before + 1))
      const wanted = Array.from({ length: AT_ONCE }, (_, n) => `s${n}`)
      // Each is in the line before the next comes: 202 says so.
      for (const [n, step] of wanted.entries()) {
        const answer = await run(gateways[n % 2]!, 'ordered', step, { prefer: 'respond-async' })
        if (answer.status !== 202 || answer.json().status !== 'pending') t.fail(`${step}: ${answer.status} ${answer.text}`)
      }
      opened.open()
      await first
      await until('all are done', () => steps('ordered').length === AT_ONCE + 1 && running === 0, 30_000)
      t.same(steps('ordered'), ['first', ...wanted])
      t.equal(most, 1)
    })

    await t.test('kill -9 of a gateway that waits: its places are passed over, those of the other go on', async (t) => {
      const opened = latch()
      door = opened.opened
      const before = upstream.count()
      const dying = await start()
      const first = run(gateways[0], 'waiting', 'first')
      await within('the execution', upstream.arrived(before + 1))
      const lost = run(dying, 'waiting', 'lost', { prefer: 'respond-async' })
      t.equal((await lost).status, 202)
      const next = run(gateways[1], 'waiting', 'next', { prefer: 'respond-async' })
      t.equal((await next).status, 202)
      await dying.kill()
      opened.open()
      await first
      await until('the next is executed', () => steps('waiting').includes('next'), LEASE_MS + 3000)
      t.same(steps('waiting'), ['first', 'next'])
      const again = await run(gateways[0], 'waiting', 'lost')
      t.match(again, { status: 200, text: '{"step":"lost"}' }, 'what was lost can be asked for again')
    })

    await t.test('kill -9 of the gateway that executes frees the task within its lease', async (t) => {
      door = Promise.resolve()
      stuck.add('dead')
      const before = upstream.count()
      const dying = await start()
      const dead = t.rejects(run(dying, 'held', 'dead'))
      await within('the execution', upstream.arrived(before + 1))
      const waiting = run(gateways[0], 'held', 'next')
      const busy = await run(gateways[1], 'held', 'later', { prefer: 'wait=0' })
      t.match(busy, { status: 409, headers: { 'oncegate-error': 'resource-busy' } })
      await new Promise((resolve) => setTimeout(resolve, LEASE_MS * 1.5))
      t.same(steps('held'), ['dead'], 'while it lives its lease is renewed')
      await dying.kill()
      await dead
      const killed = performance.now()
      t.equal((await within('the next', waiting)).status, 200)
      const afterMs = performance.now() - killed
      t.ok(afterMs < LEASE_MS + 1500, `${afterMs} ms after the end of its gateway`)
      t.match(await run(gateways[1], 'held', 'dead'), { status: 409, headers: { 'oncegate-error': 'outcome-unknown' } })
      t.same(steps('held'), ['dead', 'next'])
    })

    await t.test('a gateway that stood still for longer than its lease does not free the task of its successor', async (t) => {
      const doors = [latch(), latch()]
      const before = upstream.count()
      const stopped = await start()
      door = doors[0]!.opened
      const first = run(stopped, 'stopped', 'first')
      await within('the first execution', upstream.arrived(before + 1))
      stopped.pause()
      door = doors[1]!.opened
      const second = run(gateways[0], 'stopped', 'second')
      await within('the second, once the lease is over', upstream.arrived(before + 2), LEASE_MS + 3000)
      stopped.resume()
      doors[0]!.open()
      t.equal((await within('the late answer', first)).status, 200, 'it is still the answer to its own request')
      t.equal((await run(gateways[1], 'stopped', 'third', { prefer: 'wait=0' })).status, 409, 'the second still runs')
      doors[1]!.open()
      t.equal((await second).status, 200)
      t.equal((await run(gateways[1], 'stopped', 'third')).status, 200)
      t.same(steps('stopped'), ['first', 'second', 'third'])
    })
  })
}
