// What is shown of a configuration: all that it says, and nothing that opens a door.
import t from 'tap'
import { loadConfig } from '../../src/config/load.ts'
import { shownConfig } from '../../src/config/shown-config.ts'

const shown = (text: string, env: Record<string, string> = {}) => {
  const { config, variables } = loadConfig({ text, env })
  return shownConfig(config, variables) as Record<string, any>
}

t.test('secrets are masked, wherever they stand', async (t) => {
  const text = `
upstream: http://api:3000
store: postgres://role:pass-word-1@db/oncegate?sslmode=verify-full
secret: pass-word-2
adminToken: pass-word-3-of-16
jwt: { secret: pass-word-4-of-at-least-32-characters }
`
  const document = shown(text)
  t.match(document, { store: 'postgres://***@db/oncegate?***', secret: '***', adminToken: '***', jwt: { secret: '***' } })
  t.notMatch(JSON.stringify(document), /pass-word/)
})

t.test('what the environment gave stands there under its name', async (t) => {
  const text =
    'upstream: ${API}\nrules: [{ name: a, upstream: "http://${HOST}:80", fingerprint: { a: { value: "${SALT}" } }, ttl: "${TTL}" }]'
  const document = shown(text, { API: 'http://api.internal:3000', HOST: 'other.internal', SALT: 'grain-of-salt', TTL: '1h' })
  t.equal(document.upstream.url, '${API}')
  t.equal(document.rules[0].upstream.url, 'http://${HOST}')
  t.equal(document.rules[0].fingerprint.a.value, '${SALT}')
})

t.test('a part of a fingerprint may be called key, and for ever is a word', async (t) => {
  const document = shown('upstream: http://a\nrules: [{ name: a, ttl: forever, fingerprint: { key: header.idempotency-key } }]')
  t.match(document.rules[0], { ttl: 'forever', fingerprint: { key: 'header.idempotency-key' } })
})
