// The files of config/ load, name every key, and are what the schema says.
import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parse } from 'yaml'
import { configJsonSchema, configJsonSchemaText, type JsonSchema } from '../../src/config/json-schema.ts'
import { loadConfig } from '../../src/config/load.ts'
import { asList, asMapping, isMapping } from '../../src/config/plain-values.ts'

// Compiled, this file stands in build/test/config.
const folder = fileURLToPath(new URL('../../../config/', import.meta.url))
const reference = `${folder}oncegate.yaml`

t.test('config/oncegate.schema.json is the one made from the schema (npm run schema)', async (t) => {
  t.equal(readFileSync(`${folder}oncegate.schema.json`, 'utf8'), configJsonSchemaText())
})

t.test('the JSON Schema tells an editor what each key means', async (t) => {
  const silent = keysOf(configJsonSchema()).filter(({ schema }) => typeof schema['description'] !== 'string')
  t.same(
    silent.map(({ path }) => path),
    [],
  )
})

t.test('the reference loads without a warning', async (t) => {
  t.same(loadConfig({ file: reference, env: {} }).warnings, [])
})

t.test('the reference names every key of the schema', async (t) => {
  // Settings that name files stand in comments, since the files are not there.
  const text = readFileSync(reference, 'utf8').replaceAll(
    /^( *)# (?= *(?:include|previous|tls|cert|key|ca|mine|publicKeyFile|secret):)/gm,
    '$1',
  )
  // `defaults` and a rule's upstream take what is shown elsewhere.
  const named = new Set(pathsOf(parse(text)))
  const wanted = keysOf(configJsonSchema())
    .map(({ path }) => path)
    .filter((path) => !path.startsWith('defaults.') && !path.startsWith('rules[].upstream.'))
  t.ok(wanted.length > 50, `${wanted.length} keys`)
  t.same(
    wanted.filter((path) => !named.has(path)),
    [],
  )
})

t.test('every example loads without a warning, and knows its schema', async (t) => {
  const names = readdirSync(`${folder}examples`).filter((name) => name.endsWith('.yaml'))
  t.ok(names.length >= 4)
  for (const name of names) {
    const file = `${folder}examples/${name}`
    t.match(readFileSync(file, 'utf8'), /^# yaml-language-server: \$schema=\.\.\/oncegate\.schema\.json\n/)
    t.same(loadConfig({ file, env: {} }).warnings, [], name)
  }
})

t.test('the example of the built-in rule says what it does', async (t) => {
  const builtIn = loadConfig({ env: {}, overrides: { upstream: 'http://127.0.0.1:3000' } }).config
  const written = loadConfig({ file: `${folder}examples/idempotency-key.yaml`, env: {} }).config
  t.same({ ...written.rules[0], digest: undefined }, builtIn.rules[0])
  t.same({ ...written, rules: [] }, { ...builtIn, rules: [] })
})

function keysOf(schema: JsonSchema, path = ''): { path: string; schema: JsonSchema }[] {
  const below = Object.entries(asMapping(schema['properties'])).flatMap(([key, child]) => {
    const at = path === '' ? key : `${path}.${key}`
    return [{ path: at, schema: asMapping(child) }, ...keysOf(asMapping(child), at)]
  })
  const branches = asList(schema['anyOf']).flatMap((branch) => keysOf(asMapping(branch), path))
  const items = isMapping(schema['items']) ? keysOf(schema['items'], `${path}[]`) : []
  const rest = isMapping(schema['additionalProperties']) ? keysOf(schema['additionalProperties'], `${path}.*`) : []
  return [...below, ...branches, ...items, ...rest]
}

/** The places of a document, each in the words of keysOf. */
function pathsOf(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((entry) => pathsOf(entry, `${path}[]`))
  if (!isMapping(value)) return []
  return Object.entries(value).flatMap(([key, entry]) => {
    const at = /\.(?:fingerprint|alsoUnique)$/.test(path) ? `${path}.*` : path === '' ? key : `${path}.${key}`
    return [at, ...pathsOf(entry, at)]
  })
}
