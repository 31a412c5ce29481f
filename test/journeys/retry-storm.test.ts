// A client that asks again and again is noticed: counted by rule, and named in the log.
import t from 'tap'
import { send } from '../helpers/client.ts'
import { fingerprintOf, stage } from '../helpers/stage.ts'
import { json } from '../helpers/upstream.ts'

t.test('more than three requests of one fingerprint in five minutes: a count and a log line, whatever they are answered', async (t) => {
  const { ask, gateway } = await stage(t, {
    rules: '  - { name: pay, match: { path: /pay }, fingerprint: { key: header.idempotency-key } }',
    handler: (request, response) => json(response, request.body.includes('fails') ? 500 : 200, {}),
  })
  const metric = async (name: string) => {
    const { text } = await send(`${gateway.adminUrl}/metrics`, { method: 'GET' })
    return new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]
  }
  const storms = 'oncegate_retry_storms_total\\{rule="pay"\\}'
  t.equal(await metric(storms), '0')
  for (let n = 0; n < 3; n++) for (const key of ['works', 'fails']) await ask('/pay', { key, body: { key } })
  t.equal(await metric(storms), '0')
  const works = fingerprintOf(await ask('/pay', { key: 'works', body: { key: 'works' } }))
  const fails = fingerprintOf(await ask('/pay', { key: 'fails', body: { key: 'fails' } }))
  await ask('/pay', { key: 'works', body: { key: 'works' } })
  t.equal(await metric(storms), '2')
  const lines = gateway.log.filter(({ msg }) => String(msg).includes('retry storm'))
  t.match(lines, [
    { rule: 'pay', fingerprint: works, uses: 3, within: 300_000 },
    { rule: 'pay', fingerprint: fails },
  ])
})

t.test('other limits, and waiting for an answer is one use', async (t) => {
  let answer = (): void => {}
  const { ask, gateway, upstream } = await stage(t, {
    top: 'retryStorm: { uses: 2, within: 1h }',
    rules: '  - { name: pay, match: { path: /pay }, fingerprint: { key: header.idempotency-key }, inFlight: { answer: wait } }',
    handler: (_request, response) => {
      answer = () => json(response, 200, {})
    },
  })
  const storms = () => gateway.log.filter(({ msg }) => String(msg).includes('retry storm')).length
  const answers = Array.from({ length: 2 }, () => ask('/pay', { key: 'k', body: {} }))
  await upstream.arrived(1)
  answer()
  for (const answer of await Promise.all(answers)) t.equal(answer.status, 200)
  t.equal(storms(), 0)
  await ask('/pay', { key: 'k', body: {} })
  t.equal(storms(), 1)
})
