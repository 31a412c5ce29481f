// A rule's refusals come in the dialect of its clients, wherever in the gateway they are made; the status pages speak as ever.
import t from 'tap'
import { replayed, stage } from '../helpers/stage.ts'

const rule = (errors: string): string => `
  - name: pay
    match: { path: /pay }
    fingerprint: { key: header.idempotency-key }
    maxBody: 100B
    errors: ${errors}
  - name: other
    match: { path: /other }
    fingerprint: { key: header.idempotency-key }`

t.test('every refusal of the rule, and of no other', async (t) => {
  const { ask, upstream } = await stage(t, { rules: rule('anthropic') })
  t.equal((await ask('/pay', { key: 'k', body: { a: 1 } })).status, 200)
  const reused = await ask('/pay', { key: 'k', body: { a: 2 } })
  t.match(reused.json(), {
    type: 'error',
    error: { type: 'invalid_request_error', code: 'key-reused', message: /content/ },
    differs: ['/a'],
  })
  t.equal(reused.headers['oncegate-error'], 'key-reused')
  t.match((await ask('/pay', {})).json(), { type: 'error', error: { code: 'key-missing' } })
  t.match((await ask('/pay', { key: 'l', raw: '"'.padEnd(200) })).json(), { type: 'error', error: { type: 'request_too_large' } })
  t.match((await ask('/other', {})).json(), { type: 'urn:oncegate:key-missing' })
  t.match((await ask('/status/x', { method: 'GET' })).json(), { type: 'urn:oncegate:unknown-fingerprint' })
  t.ok(replayed(await ask('/pay', { key: 'k', body: { a: 1 } })))
  await upstream.close()
  t.match((await ask('/pay', { key: 'm', body: {} })).json(), { type: 'error', error: { type: 'api_error', code: 'upstream-unreachable' } })
})

t.test('an AWS client finds the name in its header', async (t) => {
  const { ask } = await stage(t, { rules: rule('aws') })
  t.equal((await ask('/pay', {})).headers['x-amzn-errortype'], 'KeyMissingException')
  t.equal((await ask('/other', {})).headers['x-amzn-errortype'], undefined)
})

t.test('where the request decides on the rule, the one that is chosen speaks', async (t) => {
  const { ask } = await stage(t, {
    rules: `
  - name: one
    match: { path: /do, where: { body.kind: one } }
    fingerprint: { v: body.v }
    errors: stripe
  - name: two
    match: { path: /do, where: { body.kind: two } }
    fingerprint: { v: body.v }
    errors: openai`,
  })
  t.match((await ask('/do', { body: { kind: 'one' } })).json().error, { type: 'invalid_request_error', param: undefined })
  t.match((await ask('/do', { body: { kind: 'two' } })).json().error, { type: 'invalid_request_error', param: null })
  t.match(
    (await ask('/do', { raw: '{' })).json(),
    { type: 'urn:oncegate:body-invalid', error: { type: 'urn:oncegate:body-invalid' } },
    'before it is known, neither',
  )
})
