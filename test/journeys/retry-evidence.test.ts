// A client without keys that counts its tries: a retry gets the result, a new wish in the same words executes.
import t from 'tap'
import { send } from '../helpers/client.ts'
import { testGateway } from '../helpers/gateway.ts'
import { json, latch, startUpstream } from '../helpers/upstream.ts'

const RULES = `
  - name: chat
    match: { path: /chat }
    owner: none
    fingerprint: { messages: body.messages, key: { from: header.idempotency-key, optional: true } }
    digest: []
    retryEvidence: header.x-stainless-retry-count
    inFlight: { answer: wait, maxWait: 5s }
`

t.test('first tries and retries', async (t) => {
  let door = latch()
  door.open()
  const upstream = await startUpstream(async (_request, response) => {
    const n = upstream.count()
    await door.opened
    json(response, 200, { n })
  })
  const gateway = await testGateway({ upstream: upstream.url, rules: RULES })
  t.teardown(async () => {
    await gateway.close()
    await upstream.close()
  })
  const chat = async (tries: string | undefined, key?: string) => {
    const headers = {
      ...(tries !== undefined && { 'x-stainless-retry-count': tries }),
      ...(key !== undefined && { 'idempotency-key': key }),
    }
    const { headers: got, body } = await send(`${gateway.url}/chat`, { headers, body: { messages: ['hi'] } })
    return { n: (JSON.parse(String(body)) as { n: number }).n, replayed: got['idempotency-replayed'] === 'true' }
  }
  t.same(await chat('0'), { n: 1, replayed: false })
  t.same(await chat('1'), { n: 1, replayed: true }, 'a retry')
  t.same(await chat('0'), { n: 2, replayed: false }, 'a new wish')
  t.same(await chat('2'), { n: 2, replayed: true }, 'a retry of that')
  t.same(await chat(undefined), { n: 2, replayed: true }, 'no evidence')
  t.same(await chat('0', 'k'), { n: 3, replayed: false })
  t.same(await chat('0', 'k'), { n: 3, replayed: true }, 'a key says more than the count')

  door = latch()
  const running = chat('0')
  await upstream.arrived(4)
  const others = [chat('0'), chat('1')]
  await new Promise((resolve) => setTimeout(resolve, 100))
  door.open()
  t.same(await running, { n: 4, replayed: false })
  t.same(
    await Promise.all(others),
    [
      { n: 4, replayed: true },
      { n: 4, replayed: true },
    ],
    'in flight both are duplicates',
  )
  t.equal(upstream.count(), 4)
})
