// A JSON-RPC rule is warned of where the id of a call would count.
import t from 'tap'
import { loadConfig } from '../../src/config/load.ts'

function warnings(settings: string): (readonly [path: string, message: string])[] {
  const text = `upstream: http://127.0.0.1:1\nrules:\n  - name: r\n    match: { path: /rpc }\n${settings.replaceAll(/^/gm, '    ')}\n`
  return loadConfig({ text, env: {} }).warnings.map(({ path, message }) => [path, message] as const)
}

const JSONRPC = 'protocol: jsonrpc'
const ID_COUNTS = /id counts/

t.test('in the fingerprint', async (t) => {
  for (const part of ['body', 'body.id', '{ from: body }', '{ from: [header.x-key, body], apply: [{ omit: [params._meta] }] }'])
    t.match(warnings(`${JSONRPC}\nfingerprint: { wish: ${part} }`), [['rules[0].fingerprint.wish', ID_COUNTS]], part)
  for (const part of [
    'body.params',
    '{ from: body, apply: [{ omit: [id] }] }',
    '{ from: body, apply: [{ pick: [params] }] }',
    'header.x-key',
  ])
    t.same(warnings(`${JSONRPC}\nfingerprint: { wish: ${part} }`), [], part)
})

t.test('in the digest, also where the rule does not name one', async (t) => {
  const KEY = `${JSONRPC}\nfingerprint: { key: header.idempotency-key }`
  t.match(warnings(KEY), [['rules[0].protocol', ID_COUNTS]])
  t.match(warnings(`${KEY}\ndigest: [body]`), [['rules[0].digest', ID_COUNTS]])
  for (const digest of ['digestIgnore: [body.id, body.params._meta]', 'digest: [body.params]', 'digest: []'])
    t.same(warnings(`${KEY}\n${digest}`), [], digest)
})

t.test('but not of a rule that is no JSON-RPC', async (t) => {
  t.same(warnings('fingerprint: { wish: body }'), [])
})
