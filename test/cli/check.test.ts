// `oncegate check` says all that is wrong, or what would start.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { check } from '../../src/cli/check.ts'

const folder = mkdtempSync(join(tmpdir(), 'oncegate-'))

function run(text: string): { code: number; out: string } {
  const file = join(folder, 'gate.yaml')
  writeFileSync(file, text)
  let out = ''
  const code = check(file, {}, { write: (part) => (out += part) })
  return { code, out: out.replaceAll(file, 'gate.yaml') }
}

t.test('a good file: exit 0 and a summary without passwords', async (t) => {
  const { code, out } = run(
    'upstream: http://a\nstore: redis://u:p@ss@h:1\nrules: [{ name: one, match: { path: /x }, fingerprint: { a: ip } }]\n',
  )
  t.equal(code, 0)
  t.equal(
    out,
    'gate.yaml is well\n  listen    127.0.0.1:8080\n  admin     127.0.0.1:9080\n  upstream  http://a\n  store     redis://***@h:1\n  rules     one: POST, PATCH /x\n',
  )
})

t.test('warnings are shown, and do not fail', async (t) => {
  const { code, out } = run('upstream: http://a\nstore: memory\n')
  t.equal(code, 0)
  t.match(out, /^gate\.yaml:2:8: warning: store: records in memory/)
})

t.test('a bad file: exit 2 and every mistake', async (t) => {
  const { code, out } = run('upstrem: http://a\nlisten: x\n')
  t.equal(code, 2)
  t.match(out, /^gate\.yaml:1:1: /)
  t.match(out, /^gate\.yaml:2:9: /m)
  t.match(out, /^3 mistakes$/m)
})

t.test('no file: exit 2', async (t) => {
  let out = ''
  t.equal(check(join(folder, 'none.yaml'), {}, { write: (part) => (out += part) }), 2)
  t.match(out, /no such file/)
})
