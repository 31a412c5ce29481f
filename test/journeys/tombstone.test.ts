// `tombstone`: a request whose result is over is refused for a while still, and not executed again.
import t from 'tap'
import { SHARED_STORES } from '../helpers/shared-store.ts'
import { fingerprintOf, replayed, stage } from '../helpers/stage.ts'
import { until } from '../helpers/until.ts'

const RULES = `
  - name: pay
    match: { path: /pay }
    fingerprint: { key: header.idempotency-key }
    ttl: 200ms
    lease: 1s
    tombstone: 3s
  - name: brief
    match: { path: /brief }
    fingerprint: { key: header.idempotency-key }
    ttl: 200ms
    lease: 1s
`

for (const [store, open] of Object.entries({ memory: undefined, ...SHARED_STORES })) {
  t.test(`a result whose time is over: ${store}`, async (t) => {
    const shared = await open?.()
    if (shared !== undefined) t.teardown(shared.remove)
    const { ask, upstream } = await stage(t, { rules: RULES, ...(shared && { store: shared.url }) })
    const pay = (body: object = { amount: 1 }) => ask('/pay', { key: 'k', body })
    const first = await pay()
    t.match(first, { status: 200, text: '{"execution":1}' })
    t.ok(replayed(await pay()))
    const fingerprint = fingerprintOf(first)
    const status = (page = '') => ask(`/status/${fingerprint}${page}`, { method: 'GET', key: 'k' })
    const before = (await status()).json()
    await until('its result is over', async () => (await pay()).status === 410)
    const refused = await pay()
    t.match(refused, { headers: { 'oncegate-error': 'expired', 'x-should-retry': 'false', 'idempotency-fingerprint': fingerprint } })
    t.match(refused.json(), { type: 'urn:oncegate:expired', retry: 'new-key', status_url: `/status/${fingerprint}` })
    t.equal((await pay({ amount: 2 })).status, 422, 'another content is told first')
    const document = (await status()).json()
    t.match(document, { status: 'expired', attempt: 1, http_status: 200, result_hash: before.result_hash, created_at: before.created_at })
    t.equal(document.result_url, undefined)
    t.ok(Date.parse(document.expires_at) === Date.parse(before.expires_at) + 3000)
    t.equal((await status('/result')).status, 410)
    t.equal((await ask(`/status/${fingerprint}/result`, { method: 'GET', as: 'another', key: 'k' })).status, 404)
    t.equal(upstream.count(), 1)
    await until('nothing is left of it', async () => (await status()).status === 404)
    t.ok(Date.now() >= Date.parse(document.expires_at) - 100, 'and not before its time')
    t.match(await pay(), { status: 200, text: '{"execution":2}' })
  })
}

t.test('without a tombstone it executes again at once', async (t) => {
  const { ask, upstream } = await stage(t, { rules: RULES })
  await ask('/brief', { key: 'k' })
  await until('it is executed again', async () => {
    await ask('/brief', { key: 'k' })
    return upstream.count() === 2
  })
})
