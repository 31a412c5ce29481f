// What people meet by name stands in the documentation: every problem in README, every setting in the reference configuration.
import t from 'tap'
import { GatewayMetrics } from '../src/observe/metrics.ts'
import { configSchema } from '../src/config/schema.ts'
import { PROBLEMS } from '../src/model/problems.ts'
import { isInRepository, readRepositoryFile } from './helpers/repository.ts'

const README = 'README.md'
const REFERENCE = 'config/oncegate.yaml'

t.test('every problem is named in README, in one line with its status', async (t) => {
  if (!isInRepository(README)) return t.fail(`${README} is missing`)
  const lines = readRepositoryFile(README).split('\n')
  for (const [name, { status }] of Object.entries(PROBLEMS)) {
    const documented = lines.some((line) => line.includes(`\`${name}\``) && new RegExp(`\\b${status}\\b`).test(line))
    t.ok(documented, `\`${name}\` with ${status}`)
  }
})

t.test('every metric has a row in README, with its type and labels', async (t) => {
  if (!isInRepository(README)) return t.fail(`${README} is missing`)
  const rows = readRepositoryFile(README).split('\n')
  const text = await new GatewayMetrics([{ name: 'r', shadow: true, timeoutMs: 1000, parts: [{ part: 'p', sources: ['s'] }] }]).text()
  const types = [...text.matchAll(/^# TYPE (oncegate_\w+) (\w+)$/gm)].map(([, name, type]) => [name!, type!] as const)
  t.ok(types.length > 10, 'the metrics were read')
  for (const [name, type] of types) {
    const [, series = ''] = new RegExp(`^${name}(?:_count)?(?:\\{(.*)\\})? `, 'm').exec(text) ?? []
    const labels = [...series.matchAll(/(\w+)="/g)].map(([, label]) => `\`${label}\``).join(', ')
    t.ok(
      rows.some((row) => row.startsWith(`| \`${name}\` | ${type} | ${labels}${labels === '' ? '' : ' '}| `)),
      `\`${name}\`: ${type}, ${labels}`,
    )
  }
})

t.test('every key of the configuration stands in the reference, set or commented out', async (t) => {
  if (!isInRepository(REFERENCE)) return t.fail(`${REFERENCE} is missing`)
  const reference = readRepositoryFile(REFERENCE)
  const topLevel = Object.keys(configSchema.shape)
  const ofRules = Object.keys(configSchema.shape.rules.unwrap().element.shape)
  t.ok(topLevel.length > 5 && ofRules.length > 5, 'the schema was read')
  for (const key of topLevel) t.match(reference, new RegExp(`^(# ?)?${key}:`, 'm'), `top level: ${key}`)
  for (const key of ofRules) t.match(reference, new RegExp(`^( |# {2,})[ #-]*${key}:`, 'm'), `in a rule: ${key}`)
})
