// A master of a Redis dies while two gateways are at work: nothing is executed twice, nobody hangs, and all of it comes to its end.
import t, { type Test } from 'tap'
import { type Answer, send } from '../helpers/client.ts'
import { testGateway, type TestGateway } from '../helpers/gateway.ts'
import { startCluster } from '../helpers/redis-cluster.ts'
import type { ReplicatedRedis } from '../helpers/redis-replicated.ts'
import { startSentinel } from '../helpers/redis-sentinel.ts'
import { until, within } from '../helpers/until.ts'
import { json, latch, startUpstream, type TestUpstream } from '../helpers/upstream.ts'
import { replayed } from '../helpers/stage.ts'

t.setTimeout(120_000)

const BACK_WITHIN_MS = 15_000
/** Over the rule's own limits: whoever waits longer hangs. */
const LONGEST_WAIT_MS = 10_000
const TOP = 'storeTimeout: 500ms\nreplicasAck: 1'
const RULES = `
  - name: pay
    match: { path: /pay/:id }
    fingerprint: { key: header.idempotency-key }
    lease: 8s
    inFlight: { answer: wait, maxWait: 8s }
`

interface House {
  readonly servers: ReplicatedRedis
  readonly upstream: TestUpstream
  readonly gateways: readonly TestGateway[]
  readonly ask: (gateway: number, key: string) => Promise<Answer>
  readonly executions: (key: string) => number
}

async function house(t: Test, start: () => Promise<ReplicatedRedis>): Promise<House> {
  const servers = await start()
  t.teardown(() => servers.stop())
  const upstream = await startUpstream()
  t.teardown(upstream.close)
  const options = { upstream: upstream.url, store: servers.url, rules: RULES, top: TOP }
  const gateways = await Promise.all([testGateway(options), testGateway(options)])
  t.teardown(() => Promise.all(gateways.map((gateway) => gateway.close())))
  return {
    servers,
    upstream,
    gateways,
    ask: (gateway, key) =>
      within(
        `an answer to ${key}`,
        send(`${gateways[gateway]!.url}/pay/1`, { headers: { authorization: 'Bearer a', 'idempotency-key': key }, body: { key } }),
        LONGEST_WAIT_MS,
      ),
    executions: (key) => upstream.received.filter(({ headers }) => headers['idempotency-key'] === key).length,
  }
}

/** A client that comes again, at either gateway, until it has the upstream's answer; and all that it was told until then. */
async function insist({ ask }: House, key: string, first = 0): Promise<Answer[]> {
  const told: Answer[] = []
  const endsAt = performance.now() + BACK_WITHIN_MS
  for (let n = first; ; n++) {
    const answer = await ask(n % 2, key)
    told.push(answer)
    if (answer.headers['oncegate-error'] === undefined || performance.now() > endsAt) return told
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

for (const [name, start] of Object.entries({ sentinel: startSentinel, cluster: startCluster })) {
  t.test(`${name}: kill -9 of the master in mid-execution, with duplicates under way at both gateways`, async (t) => {
    const place = await house(t, start)
    const { servers, upstream, executions } = place
    const killed = latch()
    const running = Array.from({ length: 20 }, (_, n) => `running ${n}`)
    upstream.handle(async ({ headers }, response) => {
      const key = String(headers['idempotency-key'])
      if (running.includes(key)) await killed.opened
      json(response, 200, { key, execution: executions(key) })
    })
    const held = running.map((key) => [insist(place, key, 0), insist(place, key, 1)]).flat()
    await upstream.arrived(running.length)
    const fingerprint = String(upstream.received[0]!.headers['idempotency-fingerprint'])

    // Wishes come all the time, each twice at the same moment.
    const wishes: string[] = []
    const asked: Promise<Answer[]>[] = []
    const load = setInterval(() => {
      const key = `wish ${wishes.length}`
      wishes.push(key)
      asked.push(insist(place, key, 0), insist(place, key, 1))
    }, 25)
    t.teardown(() => clearInterval(load))
    await until('some are answered', () => upstream.received.length > running.length + 20)

    const master = (await servers.master(fingerprint))!
    await master.kill()
    const died = performance.now()
    killed.open()
    await until('another master', async () => ![undefined, master].includes(await servers.master(fingerprint)), BACK_WITHIN_MS)
    // In the cluster it has no other replica, and without one no claim is granted.
    if (name === 'cluster') await master.restart()
    const late = await insist(place, 'after the fail-over')
    t.equal(late.at(-1)?.status, 200)
    t.comment(`it works again ${Math.round(performance.now() - died)} ms after the death`)
    clearInterval(load)

    const all = await within('the end of everybody', Promise.all([...held, ...asked]), 2 * BACK_WITHIN_MS)
    const told = new Set(all.flat().map(({ status, headers }) => String(headers['oncegate-error'] ?? status)))
    t.comment([...told].join(' '))
    for (const word of told) t.match(word, /^(200|store-unavailable|result-pending|in-flight|outcome-unknown)$/)
    const repeated = [...running, ...wishes].filter((key) => executions(key) > 1)
    t.same(repeated, [], 'no wish is executed twice')
    await settledAfterwards(t, place, running)
  })
}

/** Whatever ran when the master died has its result by now. */
async function settledAfterwards(t: Test, place: House, running: readonly string[]): Promise<void> {
  for (const key of running) {
    const answers = await insist(place, key)
    const last = answers.at(-1)!
    t.match(last, { status: 200, body: Buffer.from(JSON.stringify({ key, execution: 1 })) })
    t.ok(replayed(last))
    t.equal(place.executions(key), 1)
  }
}

t.test(
  'replicas that do not confirm: 503 in time, nothing is executed, and as soon as they do the same wish is executed once',
  async (t) => {
    const place = await house(t, startSentinel)
    const { servers, upstream, ask, executions } = place
    const replicas = await servers.replicasOf((await servers.master())!)
    for (const replica of replicas) replica.pause()
    const began = performance.now()
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => ask(n % 2, `wish ${n >> 1}`)))
    const took = performance.now() - began
    t.ok(took < 2000, `${took} ms`)
    for (const answer of answers) t.match(String(answer.headers['oncegate-error']), /^(store-unavailable|in-flight)$/)
    t.equal(upstream.count(), 0)
    for (const replica of replicas) replica.resume()
    const later = await Promise.all(Array.from({ length: 10 }, (_, n) => insist(place, `wish ${n}`, n)))
    t.same(
      later.map((told) => told.at(-1)?.status),
      later.map(() => 200),
    )
    for (let n = 0; n < 10; n++) t.equal(executions(`wish ${n}`), 1)
  },
)
