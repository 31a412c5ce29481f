// A good file becomes one frozen configuration, with every default filled in.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { loadConfig } from '../../src/config/load.ts'
import { ConfigError } from '../../src/config/mistakes.ts'

const load = (text: string, env: Record<string, string> = {}) => loadConfig({ file: 'gate.yaml', text, env }).config
const ruleOf = (text: string, env: Record<string, string> = {}) => load(`upstream: http://a\n${text}`, env).rules[0]

t.test('without a file the built-in rule guards what carries an Idempotency-Key', async (t) => {
  const { config, warnings } = loadConfig({ env: {}, overrides: { upstream: 'http://127.0.0.1:3000' } })
  t.same(warnings, [])
  t.same(config, {
    listen: { host: '127.0.0.1', port: 8080 },
    admin: { host: '127.0.0.1', port: 9080 },
    adminToken: '',
    upstream: { url: 'http://127.0.0.1:3000', connectTimeout: 5000 },
    store: 'lmdb:./data',
    storeTimeout: 1000,
    replicasAck: 0,
    strict: false,
    spool: { folder: './spool', maxBytes: 268_435_456 },
    secret: '',
    statusPath: '/status',
    cors: undefined,
    trustProxy: undefined,
    tls: undefined,
    retryStorm: { uses: 3, within: 300_000 },
    shutdownGrace: 30_000,
    rollout: 300_000,
    previous: [],
    rules: [
      {
        name: 'idempotency-key',
        match: { methods: ['POST', 'PATCH'], paths: [] },
        upstream: { url: 'http://127.0.0.1:3000', connectTimeout: 5000 },
        owner: ['header.authorization'],
        fingerprint: { key: { from: 'header.idempotency-key', optional: false } },
        scope: 'operation',
        digest: undefined,
        digestIgnore: [],
        inFlight: { answer: 'refuse', status: 425, retryAfter: 'auto', maxWait: 30_000 },
        errors: 'problem',
        protocol: 'http',
        outcome: {},
        onFailed: 'retry',
        onUnknown: 'refuse',
        onMissing: 'pass',
        onStoreError: 'refuse',
        onDisconnect: 'continue',
        async: false,
        streamIds: false,
        streamError: 'reset',
        ttl: 86_400_000,
        lease: 30_000,
        timeout: 600_000,
        maxBody: 1_048_576,
        maxResult: 8_388_608,
        replayHeaders: { add: [], drop: [] },
        mode: 'enforce',
      },
    ],
  })
})

t.test('a file without rules gets the built-in rule, over its defaults', async (t) => {
  const rule = ruleOf('defaults: { ttl: 1h, onMissing: refuse }')
  t.equal(rule?.name, 'idempotency-key')
  t.equal(rule?.ttl, 3_600_000)
  t.equal(rule?.onMissing, 'pass', "the rule's own word wins")
})

t.test('without any upstream nothing loads, and no line is blamed', async (t) => {
  try {
    loadConfig({ env: {} })
    t.fail('it loaded')
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    t.match(error.mistakes, [{ file: undefined, line: undefined, message: '"upstream" is missing' }])
  }
})

t.test('defaults lie under each rule, nested ones key by key', async (t) => {
  const rule = ruleOf(`
defaults:
  upstream: http://d
  lease: 5s
  owner: ip
  inFlight: { answer: wait, status: 409 }
  outcome: { failed: [409, 5xx], unknown: [502] }
  replayHeaders: { add: [X-A], drop: [X-B] }
rules:
  - name: one
    fingerprint: { id: body.id }
    inFlight: { status: 423 }
    outcome: { completed: [409] }
    replayHeaders: { add: [X-C] }
    ttl: forever
`)
  t.equal(rule?.upstream.url, 'http://d')
  t.equal(rule?.lease, 5000)
  t.equal(rule?.ttl, Number.POSITIVE_INFINITY)
  t.same(rule?.owner, ['ip'])
  t.same(rule?.inFlight, { answer: 'wait', status: 423, retryAfter: 'auto', maxWait: 30_000 })
  t.same(
    rule?.outcome,
    { completed: [409], failed: ['5xx'], unknown: [502] },
    'a status that the rule names leaves the lists of the defaults',
  )
  t.same(rule?.replayHeaders, { add: ['x-c'], drop: ['x-b'] })
})

t.test("the rule's upstream wins over the defaults', that over the file's", async (t) => {
  const text =
    'rules:\n  - { name: one, match: { path: /a }, fingerprint: { a: ip }, upstream: { url: "http://r/", connectTimeout: 1s } }\n  - { name: two, fingerprint: { a: ip } }\n'
  const { rules } = load(`upstream: { url: http://a, connections: 7 }\n${text}`)
  t.same(rules[0]?.upstream, { url: 'http://r', connectTimeout: 1000 })
  t.same(rules[1]?.upstream, { url: 'http://a', connectTimeout: 5000, connections: 7 })
})

t.test('everything is frozen', async (t) => {
  const config = load(
    'upstream: http://a\nrules:\n  - { name: one, match: { path: [/a/:b] }, fingerprint: { b: { from: [path.b, ip] } } }\n',
  )
  const thawed: string[] = []
  const visit = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return
    if (!Object.isFrozen(value)) thawed.push(path)
    for (const [key, inner] of Object.entries(value)) visit(inner, `${path}.${key}`)
  }
  visit(config, 'config')
  t.same(thawed, [])
})

t.test('flags win over the file, and are blamed by their name', async (t) => {
  const text = 'upstream: { url: http://a, connections: 3 }\nlisten: 127.0.0.1:1\n'
  const { config } = loadConfig({ text, env: {}, overrides: { upstream: 'http://b:1', listen: '[::1]:2', admin: '3', store: 'memory:' } })
  t.match(config, {
    upstream: { url: 'http://b:1', connections: 3 },
    listen: { host: '::1', port: 2 },
    admin: { host: '127.0.0.1', port: 3 },
    store: 'memory:',
  })
  try {
    loadConfig({ file: 'gate.yaml', text, env: {}, overrides: { store: 'mem:', upstream: 'b' } })
    t.fail('it loaded')
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    t.match(error.mistakes, [
      { file: '--upstream', line: undefined },
      { file: '--store', line: undefined },
    ])
  }
})

t.test('addresses are read as people write them', async (t) => {
  for (const [text, host, port] of [
    [':8081', '0.0.0.0', 8081],
    ['8082', '127.0.0.1', 8082],
    ["'[::]:1'", '::', 1],
    ['gate.internal:0', 'gate.internal', 0],
  ] as const) {
    t.same(load(`upstream: http://a\nlisten: ${text}\n`).listen, { host, port }, text)
  }
})

t.test('a rule that is off needs no fingerprint', async (t) => {
  t.match(ruleOf('rules: [{ name: pings, match: { path: /ping }, mode: off }]'), { mode: 'off', fingerprint: {} })
})

t.test('files are looked for beside the configuration', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'oncegate-'))
  for (const name of ['cert.pem', 'key.pem', 'ca.pem']) writeFileSync(join(folder, name), '')
  const file = join(folder, 'gate.yaml')
  writeFileSync(file, 'upstream: { url: https://a, ca: ca.pem }\ntls: { cert: ./cert.pem, key: key.pem }\n')
  const { config } = loadConfig({ file, env: {} })
  t.same(config.tls, { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') })
  t.equal(config.upstream.ca, join(folder, 'ca.pem'))
  t.equal(config.store, 'lmdb:./data', 'the store stays relative to the working directory')
  writeFileSync(file, Buffer.from([0x61, 0xff]))
  t.throws(() => loadConfig({ file, env: {} }), /not UTF-8/)
  t.throws(() => loadConfig({ file: join(folder, 'none.yaml'), env: {} }), /no such file/)
})

t.test('what is odd but works is a warning with its place', async (t) => {
  const text =
    'upstream: http://a\nstore: memory\nrules:\n  - name: one\n    match: { path: /x }\n    fingerprint: { a: { from: body.a, optional: true } }\n    digestIgnore: [body.b]\n    lease: 20m\n'
  const { warnings } = loadConfig({ text, env: {} })
  t.match(warnings, [
    { line: 2, column: 8, message: /lost at a restart/ },
    { line: 6, column: 5, message: /every varying part may be missing/ },
    { line: 7, column: 5, message: /no effect/ },
    { line: 8, column: 12, message: /not shorter than timeout/ },
  ])
  t.equal(warnings.length, 4)
})

t.test('a mistake that an alias repeats is shown once, where it was written first', async (t) => {
  const text =
    'upstream: http://a\ndefaults: { inFlight: &m { maxWait: soon } }\nrules: [{ name: one, fingerprint: { a: ip }, inFlight: { <<: *m } }]\n'
  try {
    loadConfig({ text, env: {} })
    t.fail('it loaded')
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    t.same(
      error.mistakes.map(({ path }) => path),
      ['defaults.inFlight.maxWait'],
    )
  }
})

t.test('what is said of streams', async (t) => {
  const text = `upstream: http://a
rules:
  - { name: all, fingerprint: { id: body.id }, completeOn: '[DONE]', streamIds: true, streamError: event, heartbeat: 15s }
`
  const { config, warnings } = loadConfig({ text, env: {} })
  t.match(config.rules[0], { completeOn: ['[DONE]'], streamIds: true, streamError: 'event', heartbeat: 15_000 })
  t.same(warnings, [])
  const late = loadConfig({ text: text.replace('15s', '15m'), env: {} })
  t.match(late.warnings, [{ path: 'rules[0].heartbeat', message: /never be one/ }])
})

t.test('what excludes, and what stays after the end', async (t) => {
  const text = `upstream: http://a
defaults: { exclusive: { by: [body.task], whenBusy: wait } }
rules:
  - { name: one, fingerprint: { id: body.id }, match: { path: /one }, tombstone: 7d }
  - { name: two, fingerprint: { id: body.id }, match: { path: /two }, exclusive: { by: [body.agent], group: agents } }
`
  const { config } = loadConfig({ text, env: {} })
  t.same(config.rules[0]?.exclusive, { by: ['body.task'], whenBusy: 'wait' })
  t.same(config.rules[1]?.exclusive, { by: ['body.agent'], group: 'agents', whenBusy: 'refuse' })
  t.equal(config.rules[0]?.tombstone, 7 * 86_400_000)
  t.equal(config.rules[1]?.tombstone, undefined)
  const endless = loadConfig({ text: text.replace('tombstone: 7d', 'tombstone: 7d, ttl: forever'), env: {} })
  t.match(
    endless.warnings.filter(({ path }) => path === 'rules[0].tombstone'),
    [{ message: /no effect/ }],
  )
})

t.test('files as it was before: their rules, the latest first, and every mistake in them', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'oncegate-previous-'))
  const file = join(directory, 'oncegate.yaml')
  const rules = (name: string) => `upstream: http://a\nrules: [{ name: ${name}, fingerprint: { a: body.a } }]\n`
  writeFileSync(join(directory, 'one.yaml'), rules('one'))
  writeFileSync(join(directory, 'two.yaml'), rules('two'))
  writeFileSync(file, `previous: [two.yaml, one.yaml]\n${rules('three')}`)
  const { config, files } = loadConfig({ file, env: {} })
  t.same(
    config.previous.map((each) => each.map(({ name }) => name)),
    [['two'], ['one']],
  )
  t.same(files, [file, join(directory, 'two.yaml'), join(directory, 'one.yaml')])
  writeFileSync(join(directory, 'one.yaml'), rules('one').replace('body.a', 'bodyy.a'))
  writeFileSync(file, `previous: [gone.yaml, one.yaml]\n${rules('three')}`)
  try {
    loadConfig({ file, env: {} })
    t.fail('it was taken')
  } catch (error) {
    t.match(error instanceof ConfigError && error.mistakes, [{ file: /gone.yaml$/ }, { file: /one.yaml$/, line: 2 }])
  }
})

t.test('the version is the same for the same files, and another wherever one differs', async (t) => {
  const version = (text: string) => loadConfig({ text: `upstream: http://a\n${text}`, env: {} }).version
  t.match(version(''), /^[0-9a-f]{12}$/)
  t.equal(version('rollout: 1m'), version('rollout: 1m'))
  t.not(version('rollout: 1m'), version('rollout: 1m '))
})
