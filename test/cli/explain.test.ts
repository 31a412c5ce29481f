// `oncegate explain` tells what identify does: rule, parts, owner, fingerprint, digest.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { explain, type ExplainOptions } from '../../src/cli/explain.ts'
import type { Explanation } from '../../src/fingerprint/explain.ts'

const folder = mkdtempSync(join(tmpdir(), 'oncegate-'))
const file = join(folder, 'gate.yaml')
writeFileSync(
  file,
  `upstream: http://a
secret: a secret for tests
rules:
  - { name: reads, match: { methods: [PUT] }, fingerprint: { a: ip } }
  - { name: other, match: { path: /other }, fingerprint: { a: ip } }
  - { name: sections, match: { path: /do, where: { body.kind: [section, chapter] } }, fingerprint: { a: body.a } }
  - name: book
    match: { path: /do }
    owner: header.x-user
    fingerprint:
      action: { value: BOOK }
      room: { from: [header.x-room, { select: body.room, trust: 0.5 }], apply: [trim, lower, { map: { small: 789 } }] }
      note: { from: body.note, optional: true }
    digest: [body]
    digestIgnore: [body.trace]
  - { name: run, match: { path: /runs/:task }, fingerprint: { a: body.a }, exclusive: { by: [path.task] }, alsoUnique: { message: body.id } }
  - { name: last, match: { path: /* }, fingerprint: { key: header.idempotency-key } }
`,
)

interface Run {
  readonly code: number
  readonly out: string
  readonly err: string
}

async function run(url: string, options: Partial<ExplainOptions> = {}): Promise<Run> {
  let out = ''
  let err = ''
  const given = { config: file, header: ['X-User: u'], ip: '127.0.0.1', ...options }
  const code = await explain(url, given, { env: {}, out: { write: (text) => (out += text) }, err: { write: (text) => (err += text) } })
  return { code, out, err }
}

async function json(url: string, options: Partial<ExplainOptions> = {}): Promise<Explanation & { note?: string }> {
  const { code, out } = await run(url, { ...options, json: true })
  t.equal(code, 0)
  return JSON.parse(out) as Explanation & { note?: string }
}

const BOOK = '{"kind":"room","room":" Small ","trace":1}'

t.test('the rule, and why the others do not guard it', async (t) => {
  const { rules, rule, outcome } = await json('http://api.test/do', { data: BOOK })
  t.equal(outcome, 'guarded')
  t.equal(rule, 'book')
  t.same(
    rules.map(({ verdict }) => verdict),
    ['method', 'path', 'where', 'guards', 'later', 'later'],
  )
  t.same(rules[2]?.conditions, [{ selector: 'body.kind', wanted: ['section', 'chapter'], found: ['room'] }])
})

t.test('each part: sources tried, trust, raw value, every step, canonical', async (t) => {
  const { parts } = await json('/do', { data: BOOK })
  t.same(
    parts.map(({ name, source }) => [name, source]),
    [
      ['action', null],
      ['note', null],
      ['room', 'body.room'],
    ],
  )
  t.same(parts[2], {
    name: 'room',
    dropped: [],
    tried: [
      { selector: 'header.x-room', trust: 1, raw: [], steps: [] },
      {
        selector: 'body.room',
        trust: 0.5,
        raw: [' Small '],
        steps: [
          { step: 'trim', values: ['Small'] },
          { step: 'lower', values: ['small'] },
          { step: 'map', values: [789] },
        ],
      },
    ],
    source: 'body.room',
    canonical: 'l1:n789;',
  })
})

t.test('a source below minTrust is listed with the reason', async (t) => {
  const trusting = join(folder, 'trust.yaml')
  writeFileSync(
    trusting,
    `upstream: http://a
rules:
  - name: open
    owner: none
    fingerprint:
      device:
        from: [{ select: header.x-device, trust: 0.9 }, { all: [ip, header.user-agent], trust: 0.3 }, { select: ip, trust: 0.1 }]
        minTrust: 0.3
`,
  )
  const { parts } = await json('/open', { config: trusting, request: 'POST', header: ['User-Agent: a'] })
  t.match(parts[0], { source: 'ip + header.user-agent', tried: [{ selector: 'header.x-device', raw: [] }, { trust: 0.3 }] })
  t.same(parts[0]?.dropped, [{ selector: 'ip', trust: 0.1, reason: 'its trust of 0.1 is below minTrust 0.3' }])
  const { out } = await run('/open', { config: trusting, request: 'POST', header: [] })
  t.match(out, /^refused with 400 field-missing/)
  t.match(out, /^ {4}ip is not asked: its trust of 0\.1 is below minTrust 0\.3$/m)
})

t.test('owner, fingerprint, digest and the names of its fields, as the gateway makes them', async (t) => {
  const one = await json('/do', { data: BOOK })
  const other = await json('/do', { data: '{"trace":2,"room":"small","kind":"room"}' })
  t.match(one.fingerprint, /^[\w-]{44}$/)
  t.equal(other.fingerprint, one.fingerprint)
  t.same(one.digestFields, ['/kind', '/room'])
  t.not(other.digest, one.digest)
  t.match(one.owner, { kind: 'known', source: 'header.x-user', tag: /^[\w-]{32}$/ })
  t.equal(one.note, undefined)
})

t.test('as text', async (t) => {
  const { code, out } = await run('/do', { data: BOOK })
  t.equal(code, 0)
  t.match(out, /^guarded by "book"$/m)
  t.match(out, /^ {4}sections: body\.kind is "room", not "section" or "chapter"$/m)
  t.match(out, /^ {4}body\.room \(trust 0\.5\) {2}" Small "$/m)
  t.match(out, /^fields {7}\/kind, \/room$/m)
})

t.test('refused, unguarded and unmatched requests are explained too', async (t) => {
  t.match(await json('/do', { data: '{"a":1,"a":2}' }), { outcome: 'refused', problem: { name: 'body-invalid', status: 400 } })
  const twice = await json('/x', { request: 'POST', header: ['Idempotency-Key: a', 'Idempotency-Key: b'] })
  t.match(twice, { outcome: 'refused', problem: { name: 'key-invalid' }, parts: [{ name: 'key', tried: [{ raw: ['a', 'b'] }] }] })
  t.match(await json('/x', { header: [] }), { outcome: 'unmatched', rule: null })
  t.match(await json('/do', { data: BOOK, header: [] }), { outcome: 'unguarded', owner: { kind: 'absent' } })
})

t.test('a body from a file; a form where it does not look like JSON', async (t) => {
  const body = join(folder, 'body')
  writeFileSync(body, BOOK)
  const { fingerprint } = await json('/do', { data: `@${body}` })
  t.equal((await json('/do', { data: BOOK })).fingerprint, fingerprint)
  t.equal((await json('/do', { data: 'room=+small' })).fingerprint, fingerprint)
})

t.test('without a secret it says that the fingerprint is not the deployment’s', async (t) => {
  const open = join(folder, 'open.yaml')
  writeFileSync(open, 'upstream: http://a\n')
  const { out } = await run('/x', { config: open, request: 'POST', header: ['Idempotency-Key: a'] })
  t.match(out, /^note: .*no secret/m)
})

t.test('a token that is not valid is refused only where a rule reads its claims', async (t) => {
  const withJwt = join(folder, 'jwt.yaml')
  writeFileSync(
    withJwt,
    `upstream: http://a
jwt: { secret: "${'s'.repeat(32)}" }
rules:
  - { name: claims, match: { path: /claims }, owner: jwt.sub, fingerprint: { a: ip } }
  - { name: plain, match: { path: /plain }, fingerprint: { a: ip } }
`,
  )
  const options = { config: withJwt, request: 'POST', header: ['Authorization: Bearer no.to.ken'] }
  t.match(await json('/claims', options), { outcome: 'refused', problem: { name: 'token-invalid', status: 401 } })
  t.match(await json('/plain', options), { outcome: 'guarded' })
})

t.test("the gateway's own pages", async (t) => {
  t.match((await json('/status/abc')).note, /answers by itself/)
})

t.test('the command, with flags as curl has them', async (t) => {
  const main = fileURLToPath(new URL('../../src/main.js', import.meta.url))
  const command = (...args: string[]) => spawnSync(process.execPath, [main, 'explain', ...args], { encoding: 'utf8' })
  const { status, stdout } = command('--config', file, '-X', 'POST', '-H', 'X-User: u', '-H', 'X-Room: 7', '-d', BOOK, '--json', '/do')
  t.equal(status, 0)
  t.match(JSON.parse(stdout), { rule: 'book', parts: [{}, {}, { source: 'header.x-room', canonical: 'l1:s1:7' }] })
  t.equal(command('/do').status, 2)
})

t.test('bad usage and bad configurations: exit 2', async (t) => {
  t.match(await run('example.com/x'), { code: 2, out: '', err: /neither a URL nor a path/ })
  t.match(await run('/x', { header: ['no header'] }), { code: 2, out: '', err: /is no header/ })
  t.match(await run('/x', { data: '@/does/not/exist' }), { code: 2, out: '', err: /cannot be read/ })
  t.match(await run('/x', { config: join(folder, 'none.yaml') }), { code: 2, out: '', err: /no such file/ })
})

t.test('the group of a fact that excludes others', async (t) => {
  const post = (path: string, a: number) => json(path, { request: 'POST', header: ['Authorization: a'], data: `{"a":${a}}` })
  const [one, same, other] = [await post('/runs/1', 1), await post('/runs/1', 2), await post('/runs/2', 1)]
  t.match(one, { outcome: 'guarded', rule: 'run', group: /^[A-Za-z0-9_-]{20}$/ })
  t.equal(one.fingerprint?.slice(0, 20), one.group)
  t.equal(same.group, one.group)
  t.not(same.fingerprint, one.fingerprint)
  t.not(other.group, one.group)
  t.equal((await json('/do', { request: 'POST' })).group, null)
  t.match((await run('/runs/1', { request: 'POST', header: ['Authorization: a'], data: '{"a":1}' })).out, /^group +\S{20}: one of/m)
})

t.test('further names of a fact', async (t) => {
  const post = (data: string) => json('/runs/1', { request: 'POST', header: ['Authorization: a', 'Content-Type: application/json'], data })
  const [one, other, same, none] = [
    await post('{"a":1,"id":1}'),
    await post('{"a":1,"id":2}'),
    await post('{"a":2,"id":1}'),
    await post('{"a":1}'),
  ]
  t.match(one.alsoUnique, [{ name: 'message', as: /^[A-Za-z0-9_-]{32}$/ }])
  t.equal(other.fingerprint, one.fingerprint, 'no part of the fingerprint')
  t.equal(none.fingerprint, one.fingerprint)
  t.not(other.alsoUnique[0]?.as, one.alsoUnique[0]?.as)
  t.equal(same.alsoUnique[0]?.as, one.alsoUnique[0]?.as)
  t.not(same.fingerprint, one.fingerprint)
  t.same(none.alsoUnique, [])
  const shown = await run('/runs/1', { request: 'POST', header: ['Authorization: a'], data: '{"a":1,"id":1}' })
  t.match(shown.out, /^also unique +message, as \S{32}: no other/m)
})
