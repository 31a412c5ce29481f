// Included files: their rules after the file's own, their mistakes at their own lines.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { loadConfig, type LoadedConfig } from '../../src/config/load.ts'
import { ConfigError, formatMistakes } from '../../src/config/mistakes.ts'

const folder = mkdtempSync(join(tmpdir(), 'oncegate-'))
mkdirSync(join(folder, 'more'))

function load(files: Record<string, string>, env: Record<string, string> = {}): LoadedConfig {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return loadConfig({ file: join(folder, 'gate.yaml'), env })
}

/** As people see them, without the folder. */
function mistakes(files: Record<string, string>): string {
  try {
    load(files)
    return ''
  } catch (error) {
    if (error instanceof ConfigError) return formatMistakes(error.mistakes, error.text).replaceAll(`${folder}/`, '')
    throw error
  }
}

const MAIN = `upstream: http://a
include: [more/one.yaml, more/two.yaml]
defaults: { ttl: 1h, lease: 5s, inFlight: { status: 409 } }
rules:
  - { name: own, match: { path: /own }, fingerprint: { a: ip } }
`
const ONE = `defaults: { ttl: 2h, inFlight: { answer: wait } }
rules:
  - { name: one, match: { path: /one }, fingerprint: { a: ip } }
  - { name: uno, match: { path: /uno }, fingerprint: { a: ip }, ttl: 3h }
`
const TWO = 'rules: [{ name: two, match: { path: /two }, fingerprint: { a: ip } }]\n'

t.test("rules come after the file's own, in the order of the files, over their own defaults and the file's", async (t) => {
  const { rules } = load({ 'gate.yaml': MAIN, 'more/one.yaml': ONE, 'more/two.yaml': TWO }).config
  t.same(
    rules.map(({ name, ttl, lease, inFlight }) => [name, ttl / 3_600_000, lease / 1000, inFlight.answer, inFlight.status]),
    [
      ['own', 1, 5, 'refuse', 409],
      ['one', 2, 5, 'wait', 409],
      ['uno', 3, 5, 'wait', 409],
      ['two', 1, 5, 'refuse', 409],
    ],
  )
})

t.test('a file that only includes has no built-in rule', async (t) => {
  const { rules } = load({ 'gate.yaml': 'upstream: http://a\ninclude: [more/two.yaml]\n', 'more/two.yaml': TWO }).config
  t.same(
    rules.map(({ name }) => name),
    ['two'],
  )
})

t.test('a mistake names the included file, its line and column, and shows the line', async (t) => {
  const out = mistakes({
    'gate.yaml': MAIN,
    'more/one.yaml': ONE.replace('/uno', 'uno').replace('ttl: 2h', 'ttl: 2x'),
    'more/two.yaml': TWO.replace('ip', 'hedaer.x'),
  })
  t.match(out, /^more\/one\.yaml:1:18: defaults\.ttl: .*\n {4}defaults: \{ ttl: 2x/m)
  t.match(out, /^more\/one\.yaml:4:33: rules\[1\]\.match\.path: /m)
  t.match(out, /^more\/two\.yaml:1:63: rules\[0\]\.fingerprint\.a: /m)
  t.equal(out.match(/^more/gm)?.length, 3, out)
})

t.test('syntax, unset variables and missing files', async (t) => {
  const out = mistakes({ 'gate.yaml': MAIN.replace('two', 'none'), 'more/one.yaml': 'rules: [\n' })
  t.match(out, /^gate\.yaml:2:26: include\[1\]: this file cannot be read: there is no such file$/m)
  t.match(out, /^more\/one\.yaml:2:1: not valid YAML/m)
  t.match(
    mistakes({ 'gate.yaml': MAIN, 'more/one.yaml': TWO.replace('ip', '"$' + '{NOT_SET}"'), 'more/two.yaml': TWO }),
    /^more\/one.*NOT_SET is not set/m,
  )
})

t.test('rules that are no list stay a mistake beside included ones', async (t) => {
  const files = { 'more/one.yaml': ONE, 'more/two.yaml': TWO }
  t.match(mistakes({ 'gate.yaml': MAIN.replace('  - { name', '  { name'), ...files }), /^gate\.yaml:5:3: rules: expected a list/m)
  t.match(mistakes({ 'gate.yaml': MAIN, ...files, 'more/two.yaml': 'rules: 3\n' }), /^more\/two\.yaml:1:8: rules: expected a list/m)
})

t.test('only rules and defaults can be included', async (t) => {
  const out = mistakes({ 'gate.yaml': MAIN, 'more/one.yaml': `listen: 80\nrulez: 1\n${ONE}`, 'more/two.yaml': 'defaults: { ttl: 1h }\n' })
  t.match(out, /^more\/one\.yaml:1:1: listen: "listen" cannot be included/m)
  t.match(out, /^more\/one\.yaml:2:1: rulez: "rulez" cannot be included/m)
  t.match(out, /^more\/two\.yaml:1:1: "rules" is missing/m)
})

t.test('two rules of one name are a mistake; one that is hidden by an own rule is a warning', async (t) => {
  const files = { 'more/one.yaml': ONE.replace('/uno', '/own'), 'more/two.yaml': TWO }
  t.match(load({ 'gate.yaml': MAIN, ...files }).warnings, [{ file: join(folder, 'more/one.yaml'), line: 4, message: /can never match/ }])
  t.match(
    mistakes({ 'gate.yaml': MAIN, ...files, 'more/two.yaml': TWO.replace('two', 'own') }),
    /^more\/two\.yaml:1:17: .*already named "own"/m,
  )
})

t.test('files and variables of an included rule', async (t) => {
  writeFileSync(join(folder, 'more/mine.mjs'), 'export default (value) => value\n')
  const text = 'rules: [{ name: two, fingerprint: { a: { from: ip, apply: [{ plugin: ./mine.mjs }], default: "$' + '{CODE}" } } }]\n'
  const { config } = load({ 'gate.yaml': 'upstream: http://a\ninclude: [more/two.yaml]\n', 'more/two.yaml': text }, { CODE: '7' })
  t.match(config.rules[0]?.fingerprint, { a: { apply: [{ plugin: join(folder, 'more/mine.mjs') }], default: '7' } })
})
