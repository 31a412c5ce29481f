// Each preset: what changes between the tries of one wish does not count, and another wish is another.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { loadConfig } from '../../src/config/load.ts'
import { compileRule } from '../../src/fingerprint/compile-rule.ts'
import { identify, type Identified } from '../../src/fingerprint/identify.ts'
import { compileRoutes, type RouteMatch } from '../../src/fingerprint/route.ts'
import { loadStepTools } from '../../src/fingerprint/steps/tools.ts'
import { chooseRule } from '../../src/fingerprint/where.ts'
import { PRESET_CASES } from './preset-cases.ts'
import { keys, request, type Sent } from './requests.ts'

// Compiled, this file stands in build/test/fingerprint.
const folder = fileURLToPath(new URL('../../../config/presets/', import.meta.url))
const names = readdirSync(folder).map((file) => file.replace(/\.yaml$/, ''))

async function identifier(preset: string): Promise<(sent: Sent) => Identified | { kind: string }> {
  const { config } = loadConfig({ file: `${folder}${preset}.yaml`, env: {}, overrides: { upstream: 'http://127.0.0.1:1' } })
  const tools = await loadStepTools(config.rules)
  const route = compileRoutes(config.rules.map((rule) => compileRule(rule, tools)))
  return (sent) => {
    const parts = request(sent)
    const found: RouteMatch = route(parts.method, parts.path)
    const match = found.kind === 'choice' ? chooseRule(found.options, parts) : found
    return match.kind === 'matched' ? identify(match.rule, parts, match, keys) : match
  }
}

/** Fingerprint and digest, or what else came of it. */
function recordOf(result: Identified | { kind: string }): { fingerprint: string; digest: string } {
  if ('operation' in result) return result.operation
  throw new Error(`not guarded: ${JSON.stringify(result)}`)
}

t.test('every preset has its cases', async (t) => {
  t.same(Object.keys(PRESET_CASES).toSorted(), names.toSorted())
})

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
  t.ok(config.rules.every(({ inFlight }) => inFlight.answer === 'wait'))
})

for (const [name, { wish, tries, others, mistakes = [], passing = [] }] of Object.entries(PRESET_CASES)) {
  t.test(name, async (t) => {
    const identified = await identifier(name)
    const first = recordOf(identified(wish))
    for (const [n, sent] of tries.entries()) t.match(recordOf(identified(sent)), pick(first), `try ${n + 1} is the same wish`)
    for (const [n, sent] of others.entries()) t.not(recordOf(identified(sent)).fingerprint, first.fingerprint, `other ${n + 1} is another`)
    for (const [n, sent] of mistakes.entries()) {
      const mistake = recordOf(identified(sent))
      t.equal(mistake.fingerprint, first.fingerprint, `mistake ${n + 1} has the same name`)
      t.not(mistake.digest, first.digest, `mistake ${n + 1} is not the same`)
    }
    for (const [n, sent] of passing.entries()) t.match(identified(sent).kind, /^un(?:guarded|matched)$/, `${n + 1} passes`)
  })
}

function pick({ fingerprint, digest }: { fingerprint: string; digest: string }): { fingerprint: string; digest: string } {
  return { fingerprint, digest }
}
