// A rolling update: gateways on one store take up new rules one after the other, under load, and nothing executes twice.
import t, { type Test } from 'tap'
import { type Answer, send } from '../helpers/client.ts'
import { testGateway, type TestGateway } from '../helpers/gateway.ts'
import { SHARED_STORES } from '../helpers/shared-store.ts'
import { fingerprintOf, replayed } from '../helpers/stage.ts'
import { within } from '../helpers/until.ts'
import { startUpstream } from '../helpers/upstream.ts'

const RELOADS = 100

/** Each version names every request otherwise: by its rule, its parts, what is compared, or all of them. */
const version = (n: number): string => `
  - name: pay-${n % 7}
    match: { path: /pay }
    owner: ${n % 3 === 0 ? 'none' : 'header.authorization'}
    fingerprint: { key: header.idempotency-key, action: { value: v${n % 5} } }
    digest: [${n % 2 === 0 ? 'body' : 'body.amount'}]
    inFlight: { answer: ${n % 4 === 0 ? 'wait' : 'refuse'}, maxWait: 5s }
`

async function twoGateways(t: Test, store: string, rules: string) {
  const upstream = await startUpstream()
  const gateways = [
    await testGateway({ upstream: upstream.url, rules, store }),
    await testGateway({ upstream: upstream.url, rules, store }),
  ] as const
  t.teardown(async () => {
    await Promise.all(gateways.map((gateway) => gateway.close()))
    await upstream.close()
  })
  return { upstream, gateways }
}

const pay = (gateway: TestGateway, key: string): Promise<Answer> =>
  send(`${gateway.url}/pay`, { headers: { authorization: 'Bearer a', 'idempotency-key': key }, body: { amount: 1 } })

for (const [store, open] of Object.entries(SHARED_STORES)) {
  t.test(`one gateway has the new rules and the other not: ${store}`, async (t) => {
    const shared = await open()
    t.teardown(shared.remove)
    const { upstream, gateways } = await twoGateways(t, shared.url, version(1))
    const [before, after] = gateways
    after.rewrite(version(5))
    t.match(await after.reload('test'), { kind: 'applied' })

    await t.test('whichever a request meets first, the other has its answer', async (t) => {
      for (let n = 0; n < 10; n++) {
        const [first, second] = n % 2 ? [before, after] : [after, before]
        const answers = [await pay(first, `turn-${n}`), await pay(second, `turn-${n}`), await pay(first, `turn-${n}`)]
        t.same(answers.map(replayed), [false, true, true])
        t.equal(new Set(answers.map(fingerprintOf)).size, 1)
      }
      t.equal(upstream.count(), 10)
    })

    await t.test('all at once', async (t) => {
      const answers = await Promise.all(Array.from({ length: 60 }, (_, n) => pay(gateways[n % 2 ? 0 : 1], `once-${n % 6}`)))
      t.same(
        [...new Set(answers.map(({ status }) => status))].filter((status) => status !== 200 && status !== 425),
        [],
      )
      t.equal(upstream.count(), 10 + 6)
    })
  })
}

t.test(`${RELOADS} reloads of changed derivations under load over two gateways: the upstream's count is exact`, async (t) => {
  const shared = await SHARED_STORES.redis!()
  t.teardown(shared.remove)
  const { upstream, gateways } = await twoGateways(t, shared.url, version(0))
  let current = 0
  let reloading = true
  const keys = new Map<string, number>()
  const strange: number[] = []
  /** New wishes, repetitions of recent and of old ones, at either gateway. */
  const client = async (id: number): Promise<void> => {
    for (let n = 0; reloading || n < 20; n++) {
      const key = `${id}-${n % 3 === 0 ? n : Math.floor(Math.random() * n)}`
      const [one, other] = n % 2 ? gateways : [gateways[1], gateways[0]]
      const [answer, again] = await Promise.all([pay(one, key), pay(other, key)])
      for (const { status } of [answer, again]) if (status !== 200 && status !== 425) strange.push(status)
      keys.set(key, (keys.get(key) ?? 0) + 2)
    }
  }
  const clients = Promise.all(Array.from({ length: 6 }, (_, id) => client(id)))
  const reloads = async (): Promise<void> => {
    for (let n = 1; n <= RELOADS; n++) {
      // One is a version behind the other for as long as a request or two take.
      const order = n % 2 ? gateways : [gateways[1], gateways[0]]
      for (const gateway of order) {
        gateway.rewrite(version(n))
        const result = await gateway.reload('test')
        if (result.kind !== 'applied') throw new Error(JSON.stringify(result))
        current = Math.max(current, n)
        await pay(gateway, `between-${n}`)
        keys.set(`between-${n}`, 1)
      }
    }
    reloading = false
  }
  await within('the reloads', Promise.all([reloads(), clients]), 90_000)
  t.equal(current, RELOADS)
  t.same(strange, [])
  const executed = new Map<string, number>()
  for (const { headers } of upstream.received) {
    const key = String(headers['idempotency-key'])
    executed.set(key, (executed.get(key) ?? 0) + 1)
  }
  t.same(
    [...executed].filter(([, times]) => times !== 1),
    [],
    'none twice',
  )
  t.equal(upstream.count(), keys.size)
  t.comment(`${keys.size} wishes, ${[...keys.values()].reduce((sum, times) => sum + times, 0)} requests`)
})
