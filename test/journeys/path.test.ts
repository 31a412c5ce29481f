// No spelling of a path slips past its rule, means two records, or leads to another host.
import t from 'tap'
import { sendRaw } from '../helpers/client.ts'
import { replayed, stage } from '../helpers/stage.ts'

const ORDERS = `
  - name: orders
    match: { path: /api/orders/* }
    fingerprint: { key: header.idempotency-key }
`

t.test('a path that could be read as another one is refused', async (t) => {
  const { upstream, ask } = await stage(t, { rules: ORDERS })
  const paths = ['..%2fadmin', '..%2Fadmin', '%2e%2e/admin', '..\\admin', '..%5cadmin', '../admin', '..;/admin', './x']
  for (const path of [
    ...paths.map((rest) => `/api/orders/${rest}`),
    '/api%2forders/1',
    '/api/x/../orders/1',
    '/api/x/%2e%2e/orders/1',
    '/x/%252e%252e/api/orders/1',
  ]) {
    const answer = await ask(path, { key: 'k', body: {} })
    t.equal(answer.status, 400, path)
    t.equal(answer.headers['oncegate-error'], 'path-ambiguous', path)
  }
  t.equal(upstream.count(), 0)
})

t.test('spellings that mean the same share one record', async (t) => {
  const { upstream, ask } = await stage(t, { rules: ORDERS })
  await ask('/api/orders/7', { key: 'k', body: {} })
  for (const path of ['//api/orders/7', '/api//orders///7', '/%61pi/orders/7', '/api/orders/%37', '/API/Orders/7', '/api/orders/7/'])
    t.ok(replayed(await ask(path, { key: 'k', body: {} })), path)
  t.notOk(replayed(await ask('/api/orders/8', { key: 'k', body: {} })))
  t.equal(upstream.count(), 2)
})

t.test('the upstream is the configured one, whatever the target says', async (t) => {
  const { upstream, ask, gateway } = await stage(t, { rules: ORDERS })
  t.equal((await ask('//evil.test/x', { body: {} })).status, 200)
  const raw = (target: string, key: string) =>
    sendRaw(
      gateway.port,
      `POST ${target} HTTP/1.1\r\nHost: evil.test\r\nAuthorization: Bearer a\r\nIdempotency-Key: ${key}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
      { quietMs: 3000 },
    )
  t.match(await raw('http://evil.test/x', 'k'), /^HTTP\/1.1 200 /)
  t.equal(upstream.count(), 2)
  t.match(await raw('http://evil.test/api/orders/7', 'k'), /^HTTP\/1.1 200 /)
  t.match(await raw('http://other.test/api/orders/7', 'k'), /idempotency-replayed: true/i, 'the absolute form meets its rule too')
  t.equal(upstream.count(), 3)
})
