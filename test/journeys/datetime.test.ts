// Times compare by the instant that they name in the rule's zone; the zone of the gateway's process has no part in it.
import t from 'tap'
import { send } from '../helpers/client.ts'
import { gatewayProcess } from '../helpers/gateway-process.ts'
import { SHARED_STORES } from '../helpers/shared-store.ts'
import { fingerprintOf, replayed, stage } from '../helpers/stage.ts'
import { startUpstream } from '../helpers/upstream.ts'

const RULES = `
  - name: remind
    match: { path: /remind }
    fingerprint: { at: { from: body.at, apply: [{ date: { zone: Europe/Vienna } }] } }
`

t.test('one instant in several spellings is one, a millisecond more is another', async (t) => {
  const { upstream, ask } = await stage(t, { rules: RULES })
  const at = (text: string) => ask('/remind', { body: { at: text } })
  await at('2029-03-31T00:00:00Z')
  for (const same of ['2029-03-31T01:00:00+01:00', '2029-03-31T00:00:00.000Z', '2029-03-30T19:00-05:00', '2029-03-31 02:00'])
    t.ok(replayed(await at(same)), same)
  for (const other of ['2029-03-31T00:00:00', '2029-03-31T00:00:00.001Z', '2029-03-31']) t.notOk(replayed(await at(other)), other)
  t.equal(upstream.count(), 4)
})

t.test('a time that the clock shows twice, or never, is equal to itself and to neither instant', async (t) => {
  const { upstream, ask } = await stage(t, { rules: RULES })
  const at = (text: string) => ask('/remind', { body: { at: text } })
  const times = ['2024-10-27T02:30:00', '2024-10-27T02:30:00+02:00', '2024-10-27T02:30:00+01:00', '2024-03-31T02:30', '2024-03-31T03:30']
  for (const time of times) t.notOk(replayed(await at(time)), time)
  for (const time of times) t.ok(replayed(await at(time)), time)
  t.equal(upstream.count(), times.length)
})

t.test('gateways whose processes live in different zones share every record', async (t) => {
  const shared = await SHARED_STORES.lmdb()
  t.teardown(shared.remove)
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const open = (TZ: string) => gatewayProcess({ upstream: upstream.url, store: shared.url, rules: RULES, env: { TZ } })
  // One behind the other: all at once they are slow to start on a busy machine.
  const gateways = [await open('America/Sao_Paulo'), await open('Pacific/Kiritimati')]
  t.teardown(() => Promise.all(gateways.map((gateway) => gateway.kill())))
  const times = ['2029-03-31T00:00:00', '2024-10-27T02:30:00', '3/5/2031', '明天晚上', '下周日中午', 'tomorrow 3pm', 'Friday', 'last night']
  for (const at of times) {
    const answers = []
    const headers = { authorization: 'Bearer a' }
    for (const { url } of gateways) answers.push(await send(`${url}/remind`, { headers, body: { at } }))
    t.equal(new Set(answers.map(fingerprintOf)).size, 1, at)
    t.same(answers.map(replayed), [false, true], at)
  }
  t.equal(upstream.count(), times.length)
})
