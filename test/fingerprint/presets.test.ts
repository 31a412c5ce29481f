// Each preset loads by itself and included; which of its requests are one wish stands in the table of pairs.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { loadConfig } from '../../src/config/load.ts'

// Compiled, this file stands in build/test/fingerprint.
const folder = fileURLToPath(new URL('../../../config/presets/', import.meta.url))
const names = readdirSync(folder).map((file) => file.replace(/\.yaml$/, ''))

t.test('each loads by itself and included, without a warning, and knows its schema', async (t) => {
  for (const name of names) {
    const file = `${folder}${name}.yaml`
    t.match(readFileSync(file, 'utf8'), /^# yaml-language-server: \$schema=\.\.\/oncegate\.schema\.json\n/, name)
    t.same(loadConfig({ file, env: {}, overrides: { upstream: 'http://127.0.0.1:1' } }).warnings, [], name)
  }
  const all = join(t.testdir({}), 'all.yaml')
  writeFileSync(all, `upstream: http://127.0.0.1:1\ninclude: ${JSON.stringify(names.map((name) => `${folder}${name}.yaml`))}\n`)
  const { config, warnings } = loadConfig({ file: all, env: {} })
  t.same(warnings, [])
  t.equal(config.rules.length, names.length)
  const held = config.rules.filter(({ inFlight }) => inFlight.answer === 'wait').map(({ name }) => name)
  t.same(held, ['button-click', 'meeting-booking', 'paper-section'], 'the others may stream: whoever asks again joins')
  t.ok(config.rules.every(({ inFlight }) => inFlight.answer !== 'refuse'))
})
