// Variables bring values into a configuration, never structure.
import t from 'tap'
import { loadConfig } from '../../src/config/load.ts'
import { ConfigError } from '../../src/config/mistakes.ts'

const load = (text: string, env: Record<string, string>) =>
  loadConfig({ file: 'gate.yaml', text: `upstream: http://a\n${text}\n`, env }).config
const mistakes = (text: string, env: Record<string, string> = {}) => {
  try {
    load(text, env)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes
    throw error
  }
}
const constant = (value: string, env: Record<string, string> = {}): unknown =>
  load(`rules:\n  - name: one\n    fingerprint:\n      b: ip\n      a:\n        value: ${value}`, env).rules[0]?.fingerprint['a']

t.test('a variable is replaced, alone or inside a text', async (t) => {
  t.equal(load('store: redis://${HOST}:${PORT:-6379}', { HOST: 'r' }).store, 'redis://r:6379')
  t.equal(load('store: ${STORE}', { STORE: 'memory:' }).store, 'memory:')
})

t.test('the default also stands in for an empty variable', async (t) => {
  t.equal(load('store: ${STORE:-memory:}', { STORE: '' }).store, 'memory:')
})

t.test('a scalar that is one variable has the type that YAML gives its value', async (t) => {
  t.same(constant('${A}', { A: '7' }), { value: 7 })
  t.same(constant('${A}', { A: 'true' }), { value: true })
  t.same(constant('${A}', { A: 'no' }), { value: 'no' })
  t.same(constant('"${A}"', { A: '7' }), { value: '7' }, 'quotes keep it a text')
  t.same(constant('x${A}', { A: '7' }), { value: 'x7' })
})

t.test('where a text is wanted, a value of digits stays one', async (t) => {
  t.equal(load('secret: ${SECRET}', { SECRET: '0012345' }).secret, '0012345')
  t.equal(load('secret: ${SECRET}', { SECRET: 'null' }).secret, 'null')
  t.equal(load('secret: ${SECRET:-}', {}).secret, '')
})

t.test('between braces, where a variable needs quotes, a number is still a number', async (t) => {
  const rule = load('rules: [{ name: one, fingerprint: { a: ip }, inFlight: { status: "${S}", maxWait: "${W}" } }]', { S: '409', W: '5s' })
    .rules[0]
  t.match(rule?.inFlight, { status: 409, maxWait: 5000 })
  t.match(mistakes('rules: [{ name: one, fingerprint: { a: ip }, inFlight: { status: ${S} } }]', { S: '409' }), [
    { hint: /so does \$\{NAME\} between/ },
  ])
})

t.test('a value cannot change the structure', async (t) => {
  for (const value of ['a: b', '[1, 2]', '{ x: 1 }', '*anchor', '- a\n- b', '# no', '${OTHER}', '!!binary aa']) {
    t.same(constant('${A}', { A: value, OTHER: 'leak' }), { value }, value)
  }
})

t.test('$${ is a plain ${', async (t) => {
  t.same(constant("'$${A} and ${A}'", { A: 'x' }), { value: '${A} and x' })
})

t.test('every unset variable is a mistake at its place, and the only one there', async (t) => {
  t.match(mistakes('listen: ${LISTEN}\nstore: ${STORE}'), [
    { line: 2, column: 9, message: 'the environment variable LISTEN is not set' },
    { line: 3, column: 8, message: 'the environment variable STORE is not set', hint: /\$\{STORE:-…\}/ },
  ])
  t.equal(mistakes('listen: ${LISTEN}\nstore: ${STORE}').length, 2)
})

t.test('names of every object are not variables', async (t) => {
  t.match(mistakes('secret: ${constructor}'), [{ message: /constructor is not set/ }])
})

t.test('what is no variable is a mistake', async (t) => {
  for (const text of ['${', '${A', '${1A}', '${A-b}', '${}'])
    t.match(mistakes(`secret: '${text}'`, { A: 'x' }), [{ line: 2, column: 9, message: /starts no variable/ }], text)
})

t.test('a bad value of a variable is blamed where the variable stands', async (t) => {
  t.match(mistakes('storeTimeout: ${T}', { T: '30' }), [{ line: 2, column: 15, message: /expected a duration/ }])
})

t.test('keys are no place for variables', async (t) => {
  t.match(mistakes('${A}: memory', { A: 'store' }), [{ line: 2, column: 1, message: 'unknown key "${A}"' }])
})
