// Operators have the last word on an outcome that nobody knows: on the admin port, guarded by its token, and told in the log.
import t, { type Test } from 'tap'
import { type Answer, send, type SendOptions } from '../helpers/client.ts'
import { fingerprintOf, replayed, stage } from '../helpers/stage.ts'
import { json } from '../helpers/upstream.ts'

const TOKEN = 'a-token-of-the-operators'

async function unknown(t: Test, options: { more?: string; top?: string } = {}) {
  let broken = true
  const { ask, upstream, gateway } = await stage(t, {
    rules: `
  - name: pay
    match: { path: /pay }
    fingerprint: { key: header.idempotency-key }
    maxResult: 1kB
${options.more ?? ''}
`,
    ...(options.top !== undefined && { top: options.top }),
    handler: (_request, response) => {
      if (broken) response.destroy()
      else json(response, 200, { n: upstream.count() })
    },
  })
  const again = () => ask('/pay', { key: 'k', body: { amount: 'of a secret' } })
  t.equal((await again()).status, 502)
  const fingerprint = fingerprintOf(await again())
  broken = false
  const admin = (page: string, send_: SendOptions = {}): Promise<Answer> =>
    send(`${gateway.adminUrl}/records/${fingerprint}${page}`, { method: 'POST', ...send_ })
  return { ask, again, upstream, gateway, fingerprint, admin }
}

const GET = { method: 'GET' }

t.test('show: how the record stands, and nothing of its content', async (t) => {
  const { admin, fingerprint, gateway } = await unknown(t)
  const shown = await admin('', GET)
  t.match(shown, { status: 200, headers: { 'content-type': 'application/json', 'cache-control': 'no-store' } })
  t.match(shown.json(), { fingerprint, rule: 'pay', status: 'unknown', attempt: 1, duplicates: 1, execution: /^[0-9a-f-]{36}$/ })
  for (const other of [`${fingerprint.slice(0, -1)}${fingerprint.endsWith('A') ? 'B' : 'A'}`, 'x']) {
    const answer = await send(`${gateway.adminUrl}/records/${other}`, GET)
    t.match(answer, { status: 404, headers: { 'oncegate-error': 'unknown-fingerprint', 'content-type': /problem\+json/ } })
  }
})

t.test('release: it has not happened, so the next duplicate executes as a further attempt', async (t) => {
  // Also where a stored failure would be replayed: a release has none.
  const { admin, again, upstream, fingerprint, gateway } = await unknown(t, { more: '    onFailed: replay' })
  t.match((await admin('/release')).json(), { fingerprint, status: 'failed', attempt: 1 })
  t.match(await again(), { status: 200, text: '{"n":2}' })
  t.equal(upstream.received[1]?.headers['idempotency-attempt'], '2')
  const line = gateway.log.find(({ audit }) => audit === 'release')
  t.match(line, { address: '127.0.0.1', credential: 'none', fingerprint, rule: 'pay', attempt: 1, before: 'unknown', after: 'failed' })
})

t.test('complete: it has happened, and this is its result, byte for byte', async (t) => {
  const { admin, again, upstream, gateway } = await unknown(t)
  const body = {
    status: 201,
    headers: { 'X-Id': 'payment-1', Link: ['<a>', '<b>'], 'Set-Cookie': 'a=b', Connection: 'close' },
    body: 'paid ü',
  }
  t.match((await admin('/complete', { body })).json(), { status: 'completed', http_status: 201 })
  const answer = await again()
  t.match(answer, { status: 201, text: 'paid ü', headers: { 'x-id': 'payment-1', link: '<a>, <b>', 'set-cookie': undefined } })
  t.ok(replayed(answer))
  t.equal(upstream.count(), 1)
  t.notOk(JSON.stringify(gateway.log).match(/paid|secret|payment-1/), 'no content in the log')

  const bytes = await unknown(t)
  t.equal((await bytes.admin('/complete', { body: { status: 200, bodyBase64: '/wD+' } })).status, 200)
  t.same([...(await bytes.again()).body], [0xff, 0x00, 0xfe])
})

t.test('fail: with an answer that onFailed: replay gives again, or with none', async (t) => {
  const { admin, again, upstream } = await unknown(t, { more: '    onFailed: replay' })
  t.match((await admin('/fail', { body: { status: 422, body: 'no' } })).json(), { status: 'failed', http_status: 422 })
  t.match(await again(), { status: 422, text: 'no' })
  t.equal(upstream.count(), 1)
  const other = await unknown(t)
  t.equal((await other.admin('/fail')).status, 200)
  t.equal((await other.again()).status, 200)
  t.equal(other.upstream.count(), 2)
})

t.test('only what is unknown: a record that is known, running or none is left as it is, and that is told', async (t) => {
  const { admin, again, upstream, gateway, ask } = await unknown(t)
  await admin('/release')
  for (const action of ['release', 'complete', 'fail']) {
    const refused = await admin(`/${action}`, action === 'complete' ? { body: { status: 200 } } : {})
    t.match(refused, { status: 409, headers: { 'oncegate-error': 'not-unknown' } })
    t.match(refused.json(), { record_status: 'failed', retry: 'never', detail: /failed/ })
  }
  t.equal((await again()).status, 200)
  t.match(await admin('/complete', { body: { status: 200, body: 'other' } }), { status: 409 })
  t.match(await again(), { status: 200, text: '{"n":2}' })
  t.match(
    gateway.log.filter(({ refused }) => refused !== undefined).map(({ audit, refused, before }) => [audit, refused, before]),
    [
      ['release', 'not-unknown', 'failed'],
      ['complete', 'not-unknown', 'failed'],
      ['fail', 'not-unknown', 'failed'],
      ['complete', 'not-unknown', 'completed'],
    ],
  )
  upstream.handle(() => {})
  const running = ask('/pay', { key: 'runs' }).catch(() => {})
  await upstream.arrived(3)
  const fingerprint = String(upstream.received[2]?.headers['idempotency-fingerprint'])
  t.match(await send(`${gateway.adminUrl}/records/${fingerprint}/release`), { status: 409 })
  t.equal((await send(`${gateway.url}/status/${fingerprint}`, { method: 'DELETE', headers: { authorization: 'Bearer a' } })).status, 200)
  await running
})

t.test('a result that cannot be read changes nothing', async (t) => {
  const { admin, again } = await unknown(t)
  const wrong: SendOptions['body'][] = [
    '',
    '{',
    '[]',
    '{}',
    { status: 99 },
    { status: '200' },
    { status: 200, headers: [] },
    { status: 200, headers: { 'a b': 'c' } },
    { status: 200, headers: { a: 'b\r\nc: d' } },
    { status: 200, headers: { a: 1 } },
    { status: 200, body: {} },
    { status: 200, body: 'a', bodyBase64: 'YQ==' },
    { status: 200, bodyBase64: 'Y' },
    { status: 200, result: 1 },
  ]
  for (const body of wrong)
    t.match(await admin('/complete', { body }), { status: 400, headers: { 'oncegate-error': 'body-invalid' } }, JSON.stringify(body))
  t.match(await admin('/release', { body: { status: 200 } }), { status: 400 })
  t.match(await admin('/complete', { body: { status: 200, body: 'x'.repeat(1001) } }), {
    status: 413,
    headers: { 'oncegate-error': 'body-too-large' },
  })
  t.match(await admin('/complete', { body: { status: 200, body: 'x'.repeat(200_000) } }), { status: 413 })
  t.equal((await again()).status, 409)
})

t.test('adminToken guards all but health', async (t) => {
  const { admin, again, gateway } = await unknown(t, { top: `adminToken: ${TOKEN}` })
  const url = gateway.adminUrl
  for (const authorization of [undefined, 'Bearer', `Bearer ${TOKEN.slice(0, -1)}`, `Bearer ${TOKEN}x`, `Basic ${TOKEN}`, TOKEN]) {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization }
    const refusals = [admin('/release', { headers }), admin('', { ...GET, headers }), send(`${url}/nowhere`, { ...GET, headers })]
    for (const refused of await Promise.all(refusals)) {
      t.match(refused, { status: 401, headers: { 'www-authenticate': 'Bearer', 'oncegate-error': 'token-invalid' } })
    }
  }
  for (const page of ['/healthz', '/readyz', '/readyz?verbose']) t.equal((await send(`${url}${page}`, GET)).status, 200)
  t.equal((await again()).status, 409)
  const headers = { authorization: `Bearer ${TOKEN}` }
  t.match(await send(`${url}/nowhere`, { ...GET, headers }), { status: 404, headers: { 'oncegate-error': 'not-found' } })
  t.equal((await admin('/release', { headers })).status, 200)
  t.match(
    gateway.log.find(({ audit }) => audit === 'release'),
    { credential: 'adminToken' },
  )
  t.notOk(JSON.stringify(gateway.log).includes(TOKEN))
})

t.test('a web page of another site changes nothing', async (t) => {
  const { admin } = await unknown(t)
  for (const site of ['cross-site', 'same-site']) t.equal((await admin('/release', { headers: { 'sec-fetch-site': site } })).status, 403)
  t.equal((await admin('/release', { headers: { 'sec-fetch-site': 'same-origin' } })).status, 200)
})

t.test('the traffic port knows none of it', async (t) => {
  const { gateway, fingerprint, upstream } = await unknown(t)
  const before = upstream.count()
  t.equal((await send(`${gateway.url}/records/${fingerprint}/release`)).status, 200, 'forwarded like any other')
  t.equal(upstream.count(), before + 1)
})
