// `oncegate explain --against`: what a change of the rules changes, over recorded requests.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { explain, type ExplainOptions } from '../../src/cli/explain.ts'
import type { Comparison } from '../../src/cli/compare-explanations.ts'

const rules = (fingerprint: string, more = ''): string => `upstream: http://a
rules:
  - name: order
    match: { path: /orders }
    owner: header.x-user
    fingerprint: ${fingerprint}
${more}`

/** POST /orders by the user u, unless said otherwise. */
const order = (body: object, more: object = {}): object => ({
  url: '/orders',
  headers: { 'X-User': 'u' },
  body: JSON.stringify(body),
  ...more,
})

interface Files {
  readonly before: string
  readonly after: string
  readonly requests: readonly (object | string)[]
}

function stage(t: Test, { before, after, requests }: Files): string {
  const lines = requests.map((request) => (typeof request === 'string' ? request : JSON.stringify(request)))
  return t.testdir({ 'before.yaml': before, 'after.yaml': after, 'requests.jsonl': `${lines.join('\n')}\n` })
}

async function run(folder: string, options: Partial<ExplainOptions> = {}): Promise<{ code: number; out: string; err: string }> {
  let [out, err] = ['', '']
  const given = {
    config: join(folder, 'after.yaml'),
    against: join(folder, 'before.yaml'),
    requests: join(folder, 'requests.jsonl'),
    header: [],
    ip: '127.0.0.1',
    ...options,
  }
  const surroundings = { env: {}, out: { write: (text: string) => (out += text) }, err: { write: (text: string) => (err += text) } }
  const code = await explain(undefined, given, surroundings)
  return { code, out, err }
}

async function compared(t: Test, files: Files): Promise<Comparison> {
  const { code, out, err } = await run(stage(t, files), { json: true })
  t.equal(code, 0, err)
  return JSON.parse(out) as Comparison
}

const NOTHING = { joined: [], parted: [], agreeing: [], conflicting: [], guards: [], renamed: [] }

t.test('the same rules, with other settings and another secret: nothing changes', async (t) => {
  const before = rules('{ cart: body.cart }')
  const after = `secret: another\n${before}    ttl: 1h\n    inFlight: { answer: wait }\n`
  const requests = [order({ cart: 1 }), order({ cart: 1.0, at: 2 }), order({ cart: 2 }), { url: '/other' }]
  t.same(await compared(t, { before, after, requests }), { requests: 4, ...NOTHING })
  const { out } = await run(stage(t, { before, after, requests }))
  t.equal(out, '4 requests compared: nothing changes\n')
})

t.test('which requests now share a record, and which no longer do', async (t) => {
  const before = rules('{ cart: body.cart, day: body.day }')
  const after = rules('{ cart: { from: body.cart, apply: [lower] }, note: { from: body.note, optional: true } }')
  const requests = [
    order({ cart: 'a', day: 1, note: 'x' }),
    order({ cart: 'A', day: 1, note: 'x' }),
    order({ cart: 'a', day: 1 }),
    order({ cart: 'b', day: 1 }),
    order({ cart: 'b', day: 2 }),
    order({ cart: 'b', day: 2 }),
    order({ cart: 'b', day: 1 }, { headers: { 'X-User': 'v' } }),
  ]
  const { joined, parted, guards, renamed } = await compared(t, { before, after, requests })
  t.same(joined, [
    [[1], [2]],
    [[4], [5, 6]],
  ])
  t.same(parted, [[[1], [3]]])
  t.same(guards, [])
  t.same(renamed, [1, 2, 3, 4, 5, 6, 7])
})

t.test('which change guard', async (t) => {
  const before = rules('{ cart: body.cart }')
  const after = rules('{ cart: body.cart }', '  - { name: rest, match: { path: /rest }, owner: none, fingerprint: { b: body } }\n').replace(
    'path: /orders',
    'path: /orders, where: { body.kind: book }',
  )
  const requests = [order({ cart: 1 }), order({ cart: 1, kind: 'book' }), { url: '/rest', body: '1' }, order({}), order({ kind: 'book' })]
  const { guards, renamed, parted } = await compared(t, { before, after, requests })
  t.same(guards, [
    { line: 1, before: 'guarded by "order"', after: 'unmatched' },
    { line: 3, before: 'unmatched', after: 'guarded by "rest"' },
    { line: 4, before: 'refused with 400 field-missing', after: 'unmatched' },
  ])
  t.same(parted, [[[1], [2]]])
  t.same(renamed, [], 'those under the same rule keep their fingerprints')
})

t.test('which contents now conflict within one record, and which no longer do', async (t) => {
  const digest = (fields: string) => rules('{ cart: body.cart }', `    digest: ${fields}\n`)
  const requests = [
    order({ cart: 1, a: 1, b: 1 }),
    order({ cart: 1, a: 1, b: 2 }),
    order({ cart: 1, a: 2, b: 1 }),
    order({ cart: 2, a: 3, b: 3 }),
  ]
  const { agreeing, conflicting, joined, parted } = await compared(t, { before: digest('[body.a]'), after: digest('[body.b]'), requests })
  t.same([joined, parted], [[], []])
  t.same(agreeing, [[[1], [3]]])
  t.same(conflicting, [[[1], [2]]])
})

t.test('a window joins both sides of its edge', async (t) => {
  const at = (time: string) => order({ cart: 1, at: time })
  const requests = [at('2024-05-20T04:00:59Z'), at('2024-05-20T04:01:01Z'), at('2024-05-20T04:05:00Z')]
  const before = rules('{ cart: body.cart, at: body.at }')
  const after = rules('{ cart: body.cart, at: { from: body.at, apply: [{ window: 1m }] } }')
  t.same((await compared(t, { before, after, requests })).joined, [[[1], [2]]])
})

t.test('a line may say its time, address, claims and bytes', async (t) => {
  const jwt = `jwt: { secret: "${'s'.repeat(32)}" }\n`
  const before = jwt + rules('{ day: body.day, b: { from: body.b, optional: true }, ip: ip }').replace('header.x-user', 'jwt.sub')
  const after = before.replace('day: body.day', 'day: { from: body.day, apply: [{ date: { zone: UTC, precision: day } }] }')
  const said = (day: string, more: object) => ({ ...order({ day }), claims: { sub: 'u' }, ...more })
  const requests = [
    said('tomorrow', { time: '2024-05-20T23:00:00Z' }),
    said('2024-05-21', { headers: { 'Content-Type': ['application/json'] }, body: undefined, bodyBase64: btoa('{"day":"2024-05-21"}') }),
    said('tomorrow', { time: '2024-05-21T00:30:00Z' }),
    said('2024-05-21', { ip: '192.0.2.7' }),
    said('2024-05-21', { claims: { sub: 'v' } }),
  ]
  t.same((await compared(t, { before, after, requests })).joined, [[[1], [2]]])
})

t.test('as text', async (t) => {
  const files = {
    before: rules('{ cart: body.cart }'),
    after: rules('{ cart: { from: body.cart, apply: [lower] } }').replace('path: /orders', 'path: [/orders, /new]'),
    requests: [order({ cart: 'a' }), '', order({ cart: 'A' }), order({ cart: 'a' }, { url: '/new' })],
  }
  const { code, out } = await run(stage(t, files))
  t.equal(code, 0)
  t.match(out, /^3 requests compared$/m)
  t.match(out, /^now share a record \(in groups as they were\)\n {2}line 1 \| line 3$/m)
  t.match(out, /^are guarded otherwise\n {2}line 4: unmatched → guarded by "order"$/m)
})

t.test('bad lines and bad usage: exit 2, and where', async (t) => {
  const before = rules('{ cart: body.cart }')
  const bad: [line: string, err: RegExp][] = [
    ['{', /requests\.jsonl:2: .*JSON/],
    ['[]', /requests\.jsonl:2: a request is an object/],
    ['{"method":"POST"}', /requests\.jsonl:2: "url" is missing/],
    ['{"url":"/x","bodi":"a"}', /unknown member "bodi"; did you mean "body"\?/],
    ['{"url":"x"}', /neither a URL nor a path/],
    ['{"url":"/x","body":{"a":1}}', /"body" is no text/],
    ['{"url":"/x","headers":[]}', /"headers" is no object/],
    ['{"url":"/x","headers":{"a":1}}', /the header "a" is neither a text nor a list/],
    ['{"url":"/x","time":"yesterday"}', /"time" is no time like/],
    ['{"url":"/x","bodyBase64":"%"}', /"bodyBase64" is no base64/],
    ['{"url":"/x","body":"a","bodyBase64":"YQ=="}', /exclude each other/],
  ]
  for (const [line, err] of bad) {
    t.match(await run(stage(t, { before, after: before, requests: [order({ cart: 1 }), line] })), { code: 2, out: '', err }, line)
  }
  t.match(await run(stage(t, { before, after: before, requests: [''] })), { code: 2, err: /holds no request/ })
  t.match(await run(stage(t, { before: 'upstrem: http://a\n', after: before, requests: [order({})] })), {
    code: 2,
    err: /before\.yaml:1:1: /,
  })
})

t.test('the command: its help names the format, and it wants a request', async (t) => {
  const main = fileURLToPath(new URL('../../src/main.js', import.meta.url))
  const command = (...args: string[]) => spawnSync(process.execPath, [main, 'explain', ...args], { encoding: 'utf8' })
  t.match(command('--help').stdout, /JSON Lines[\s\S]*"method"/)
  const folder = stage(t, { before: rules('{ cart: body.cart }'), after: rules('{ cart: body.cart }'), requests: [order({ cart: 1 })] })
  const file = (name: string) => join(folder, name)
  const { status, stdout } = command(
    '--config',
    file('after.yaml'),
    '--against',
    file('before.yaml'),
    '--requests',
    file('requests.jsonl'),
    '--json',
  )
  t.equal(status, 0)
  t.same(JSON.parse(stdout), { requests: 1, ...NOTHING })
  const none = command('--config', file('after.yaml'))
  t.equal(none.status, 2)
  t.match(none.stderr, /no request: give a URL, or --raw FILE/)
})
