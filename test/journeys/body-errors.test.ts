// Bodies that a rule needs and cannot read: refused with a name, before the upstream is asked.
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { type Answer, sendRaw } from '../helpers/client.ts'
import { replayed, stage } from '../helpers/stage.ts'
import { until } from '../helpers/until.ts'

const RULES = `
  - { name: field, match: { path: /field }, fingerprint: { item: body.item } }
  - { name: key, match: { path: /key }, fingerprint: { key: header.idempotency-key }, maxBody: 100B }
`

function refused(t: Test, answer: Answer, status: number, name: string, about: string): void {
  t.equal(answer.status, status, about)
  t.equal(answer.headers['oncegate-error'], name, about)
  t.match(answer.json(), { type: `urn:oncegate:${name}`, status, retry: 'never' })
  t.equal(answer.headers['x-should-retry'], 'false')
}

t.test('400: not JSON, or JSON that two parsers would read differently', async (t) => {
  const { upstream, ask } = await stage(t, { rules: RULES })
  const raws = [
    '{"item":1',
    '{item:1}',
    "{'item':1}",
    '{"item":1}x',
    '{"item":01}',
    '{"item":NaN}',
    '{"item":1,}',
    ' ',
    '{"item":1,"item":2}',
  ]
  for (const raw of raws) {
    const answer = await ask('/field', { raw })
    refused(t, answer, 400, 'body-invalid', raw)
  }
  const latin1 = Buffer.from('{"item":"é"}', 'latin1')
  refused(t, await ask('/field', { body: latin1, headers: { 'content-type': 'application/json' } }), 400, 'body-invalid', 'not UTF-8')
  const private_ = await ask('/field', { raw: '{"item":"private-value"' })
  t.notMatch(private_.text, 'private-value')
  t.equal(upstream.count(), 0)
})

t.test('415: a type without fields', async (t) => {
  const { upstream, ask } = await stage(t, { rules: RULES })
  for (const type of ['text/plain', 'application/octet-stream', 'application/jsonx', 'application/json, text/plain'])
    refused(t, await ask('/field', { body: '{"item":1}', headers: { 'content-type': type } }), 415, 'body-unsupported', type)
  refused(t, await ask('/field', { body: '{"item":1}' }), 415, 'body-unsupported', 'no type')
  const gzip = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
  refused(t, await ask('/field', { body: gzipSync('{"item":1}'), headers: gzip }), 415, 'body-unsupported', 'compressed')
  t.equal(upstream.count(), 0)
  for (const type of ['application/json; charset=utf-8', 'Application/JSON', 'application/vnd.api+json'])
    t.equal((await ask('/field', { body: `{"item":"${type}"}`, headers: { 'content-type': type } })).status, 200, type)
  t.equal(upstream.count(), 3)
})

t.test('where no field is asked for, a body of any type is its bytes', async (t) => {
  const { upstream, ask } = await stage(t, { rules: RULES })
  const headers = { 'content-type': 'text/plain' }
  await ask('/key', { key: 'k', body: '{"a":1}', headers })
  t.ok(replayed(await ask('/key', { key: 'k', body: '{"a":1}', headers })))
  t.equal((await ask('/key', { key: 'k', body: '{"a": 1}', headers })).status, 422)
  t.equal(upstream.count(), 1)
})

t.test('413: over maxBody, declared or found out on the way', async (t) => {
  const { upstream, ask, gateway } = await stage(t, { rules: RULES })
  t.equal((await ask('/key', { key: 'k', raw: JSON.stringify('x'.repeat(98)) })).status, 200, 'exactly 100 bytes')
  refused(t, await ask('/key', { key: 'l', raw: JSON.stringify('x'.repeat(99)) }), 413, 'body-too-large', 'declared')
  const declared = await sendRaw(gateway.port, 'POST /key HTTP/1.1\r\nHost: x\r\nIdempotency-Key: m\r\nContent-Length: 101\r\n\r\n', {
    quietMs: 3000,
  })
  t.match(declared, /^HTTP\/1\.1 413 /, 'refused before a byte of it was sent')
  const head = 'POST /key HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\r\nIdempotency-Key: m\r\nTransfer-Encoding: chunked\r\n\r\n'
  const chunked = await sendRaw(gateway.port, `${head}65\r\n${'x'.repeat(0x65)}\r\n`, { quietMs: 3000 })
  t.match(chunked, /^HTTP\/1\.1 413 /, 'found out, without waiting for the end')
  t.match(chunked, /\r\nconnection: close\r\n/i, 'the rest of the body is not taken for the next request')
  await until('all are logged', () => gateway.log.filter(({ outcome }) => outcome === 'body-too-large').length === 3)
  t.equal(upstream.count(), 1)
  t.equal((await ask('/unguarded', { raw: JSON.stringify('x'.repeat(5000)) })).status, 200, 'no rule, no limit')
})
