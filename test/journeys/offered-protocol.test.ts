import t from 'tap'
import { sendRaw } from '../helpers/client.ts'
import { testGateway } from '../helpers/gateway.ts'
import { startUpstream } from '../helpers/upstream.ts'

const RULES = `
  - name: pay
    match: { path: /pay }
    fingerprint: { key: header.idempotency-key }
`

function offer(upgrade: string, body = '{"amount":1}'): string {
  return (
    'POST /pay HTTP/1.1\r\nHost: gate\r\nConnection: Upgrade, HTTP2-Settings\r\n' +
    `Upgrade: ${upgrade}\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\nAuthorization: Bearer a\r\nIdempotency-Key: k1\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  )
}

t.test('a client that offers h2c is served over HTTP/1.1, guarded as ever, and may go on with its connection', async (t) => {
  const upstream = await startUpstream()
  const gateway = await testGateway({ upstream: upstream.url, rules: RULES })
  t.teardown(async () => {
    await gateway.close()
    await upstream.close()
  })
  const next = offer('h2c')
    .replace(/(?:Connection|Upgrade|HTTP2-Settings): .*\r\n/g, '')
    .replace('k1', 'k2')
  const answers = await sendRaw(gateway.port, offer('h2c') + next)
  t.equal(answers.match(/HTTP\/1\.1 200/g)?.length, 2)
  t.equal(upstream.count(), 2)
  t.equal(upstream.received[0]!.body.toString(), '{"amount":1}')
  t.notOk('upgrade' in upstream.received[0]!.headers)
  t.match(await sendRaw(gateway.port, offer('h2c')), /Idempotency-Replayed: true/, 'and its duplicates are replayed')
  t.equal(upstream.count(), 2)
})

t.test('an Upgrade header is no way past a rule', async (t) => {
  const upstream = await startUpstream()
  const gateway = await testGateway({ upstream: upstream.url, rules: RULES })
  t.teardown(async () => {
    await gateway.close()
    await upstream.close()
  })
  for (const connection of ['Connection: keep-alive', 'Connection: Upgrade']) {
    for (let n = 0; n < 2; n++) await sendRaw(gateway.port, offer('websocket').replace(/Connection: .*/, connection), { quietMs: 200 })
  }
  t.ok(upstream.count() <= 1, `ran ${upstream.count()} times`)
})
