// `oncegate records`: an operator's word from the command line.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import type { RecordsConsole } from '../../src/cli/admin-port.ts'
import { records, type RecordsOptions } from '../../src/cli/records.ts'
import { freePort } from '../helpers/redis-server.ts'
import { fingerprintOf, stage } from '../helpers/stage.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

const TOKEN = 'a-token-of-the-operators'

async function run(
  action: string,
  fingerprint: string | undefined,
  options: Partial<RecordsOptions> & { admin: string },
  env: RecordsConsole['env'] = {},
  isTTY = false,
) {
  let out = ''
  let err = ''
  const code = await records(action, fingerprint, options, {
    env,
    out: { write: (text) => (out += text) },
    err: { write: (text) => (err += text), isTTY },
  })
  return { code, out, err }
}

async function scene(test: Test) {
  const { ask, gateway, upstream } = await stage(test, {
    top: `adminToken: ${TOKEN}`,
    rules: '  - { name: pay, match: { path: /pay }, fingerprint: { key: header.idempotency-key }, onFailed: replay }',
    handler: (_request, response) => void response.destroy(),
  })
  const again = (key: string) => ask('/pay', { key })
  const broken = async (key: string) => {
    await again(key)
    return fingerprintOf(await again(key))
  }
  return { again, broken, admin: gateway.adminUrl, upstream }
}

t.test('show, release, complete and fail', async (t) => {
  const { again, broken, admin, upstream } = await scene(t)
  const fingerprint = await broken('a')
  const shown = await run('show', fingerprint, { admin, token: TOKEN })
  t.equal(shown.code, 0)
  t.match(shown.out, new RegExp(`^fingerprint +${fingerprint}\n`))
  t.match(shown.out, /^status +unknown$/m)

  const directory = await temporaryDirectory()
  t.teardown(directory.remove)
  const file = join(directory.path, 'result')
  writeFileSync(file, Buffer.from([0xff, 0x0a]))
  const result = { status: '201', header: ['X-Id: 7', 'X-Id: 8'], data: `@${file}` }
  const completed = await run('complete', fingerprint, { admin, ...result, json: true }, { ONCEGATE_ADMIN_TOKEN: TOKEN })
  t.equal(completed.code, 0)
  t.match(JSON.parse(completed.out), { status: 'completed', http_status: 201 })
  const answer = await again('a')
  t.match(answer, { status: 201, headers: { 'x-id': '7, 8' } })
  t.same([...answer.body], [0xff, 0x0a])

  const failed = await broken('b')
  t.equal((await run('fail', failed, { admin, token: TOKEN, status: '422', data: 'no' })).code, 0)
  t.match(await again('b'), { status: 422, text: 'no' })

  const released = await broken('c')
  const before = upstream.count()
  t.equal((await run('release', released, { admin: `${admin}/`, token: TOKEN })).code, 0)
  t.equal((await again('c')).status, 502)
  t.equal(upstream.count(), before + 1)
})

t.test('what is refused or out of reach: exit 1, and why', async (t) => {
  const { broken, admin } = await scene(t)
  const fingerprint = await broken('a')
  t.match(await run('show', fingerprint, { admin }), { code: 1, out: '', err: /token is not valid/ })
  t.match(await run('show', 'nothing', { admin, token: TOKEN }), { code: 1, err: /No such fingerprint: / })
  await run('release', fingerprint, { admin, token: TOKEN })
  const again = await run('release', fingerprint, { admin, token: TOKEN, json: true })
  t.equal(again.code, 1)
  t.match(JSON.parse(again.err), { type: 'urn:oncegate:not-unknown', record_status: 'failed' })
  t.match(await run('show', fingerprint, { admin: `127.0.0.1:${await freePort()}` }), {
    code: 1,
    err: /did not answer: .*ECONNREFUSED/,
  })
})

t.test('a fingerprint that begins with a dash is no flag', async (t) => {
  const program = fileURLToPath(new URL('../../src/main.js', import.meta.url))
  const admin = `http://127.0.0.1:${await freePort()}`
  const show = (fingerprint: string) =>
    spawnSync(process.execPath, [program, 'records', 'show', fingerprint, '--admin', admin], { encoding: 'utf8' })
  for (const fingerprint of [`-${'a'.repeat(43)}`, `--${'-'.repeat(42)}`, 'a'.repeat(44)])
    t.match(show(fingerprint), { status: 1, stderr: /did not answer/ })
  t.match(show('--jsn'), { status: 2, stderr: /unknown option/ })
})

t.test('list and show: tables for people, JSON for programs, and how far it has come for whoever watches', async (t) => {
  const { broken, again, admin } = await scene(t)
  const [a, b] = [await broken('a'), await broken('b')]
  await run('release', b, { admin, token: TOKEN, reason: 'asked the bank' })
  const at = { admin, token: TOKEN }
  const table = await run('list', undefined, at)
  t.equal(table.code, 0)
  t.equal(table.err, '', 'nobody watches')
  const [head, ...lines] = table.out.trimEnd().split('\n')
  t.match(head, /^status +rule +attempt +duplicates +http +changed +fingerprint$/)
  t.equal(lines.length, 2)
  t.ok(lines.some((line) => /^unknown +pay +1 +1 /.test(line) && line.endsWith(`  ${a}`)))
  const watched = await run('list', undefined, { ...at, status: 'unknown', since: '1h' }, {}, true)
  t.match(watched.out, a)
  t.notMatch(watched.out, b)
  t.match(watched.err, /2 records looked at, 1 found/)
  t.ok(watched.err.endsWith('\r\u001b[K'), 'and that is taken away at the end')
  t.match(await run('list', undefined, { ...at, until: '1h' }), { code: 0, out: 'No such records.\n' })
  t.match(JSON.parse((await run('list', undefined, { ...at, json: true })).out), {
    records: [{ rule: 'pay' }, { rule: 'pay' }],
    cursor: null,
  })
  const first = await run('list', undefined, { ...at, limit: '1' })
  t.equal(first.out.split('\n').length, 4, 'a head, a record, and where there are more')
  const [, cursor = ''] = /--cursor (\S+)/.exec(first.out) ?? []
  const second = await run('list', undefined, { ...at, limit: '1', cursor })
  t.same(new Set([first, second].map(({ out }) => [a, b].find((name) => out.includes(name)))), new Set([a, b]))
  const { out } = await run('show', b, at)
  t.match(out, /unknown → failed +by an operator  asked the bank\n/)
  t.match(await run('list', undefined, { ...at, status: 'lost' }), { code: 1, err: /status is none of/ })
  t.match(await run('list', undefined, { admin }), { code: 1, err: /token is not valid/ })
  await again('a')
})

t.test('find by key or request, and purge', async (t) => {
  const { broken, admin, again, upstream } = await scene(t)
  const [a, b] = [await broken('a'), await broken('b')]
  const at = { admin, token: TOKEN }
  const header = ['Authorization: Bearer a']
  const found = await run('find', undefined, { ...at, rule: 'pay', key: 'a', header })
  t.match(found, { code: 0, out: new RegExp(`^rule +pay\noutcome +guarded\nfingerprint +${a}\n\nstatus[^]*\nunknown `) })
  const request = { ...at, request: 'POST', url: '/pay', header: [...header, 'Idempotency-Key: b'] }
  t.match(JSON.parse((await run('find', undefined, { ...request, json: true })).out), { fingerprint: b, records: [{ fingerprint: b }] })
  t.match(await run('find', undefined, { ...at, rule: 'pay', key: 'c', header }), { code: 0, out: /No such records/ })
  t.match(await run('find', undefined, { ...at, url: '/other', request: 'POST' }), { code: 0, out: /^rule +none\noutcome +unmatched: / })

  t.match(await run('purge', undefined, { ...at, rule: 'pay', status: 'unknown', dryRun: true }), {
    code: 0,
    out: '2 would be removed. Nothing was.\n',
  })
  t.match(await run('purge', undefined, { ...at, rule: 'pay' }), { code: 0, out: '0 removed.\n' })
  t.match(await run('purge', a, { ...at, reason: 'a test' }), { code: 0, out: new RegExp(`^fingerprint +${a}`) })
  const purged = await run('purge', undefined, { ...at, rule: 'pay', status: 'unknown', json: true })
  t.same(JSON.parse(purged.out), { dry_run: false, matched: 1, removed: 1 })
  const before = upstream.count()
  await again('b')
  t.equal(upstream.count(), before + 1, 'what was purged executes')
})

t.test('bad usage: exit 2, and nothing is sent', async (t) => {
  const admin = 'http://127.0.0.1:9'
  const usage: [string, string | undefined, Partial<RecordsOptions>][] = [
    ['forget', 'fp', {}],
    ['show', undefined, {}],
    ['list', 'fp', {}],
    ['list', undefined, { limit: 'x' }],
    ['list', undefined, { since: 'yesterday' }],
    ['purge', undefined, {}],
    ['purge', undefined, { status: 'failed' }],
    ['find', undefined, {}],
    ['find', 'fp', { key: 'k' }],
    ['show', '../x', {}],
    ['show', 'fp', { admin: 'localhost' }],
    ['show', 'fp', { admin: 'ftp://127.0.0.1:9080' }],
    ['complete', 'fp', {}],
    ['complete', 'fp', { status: '99' }],
    ['complete', 'fp', { status: '200', header: ['nothing'] }],
    ['complete', 'fp', { status: '200', data: '@/nowhere/at/all' }],
    ['release', 'fp', { status: '200' }],
    ['show', 'fp', { data: 'x' }],
  ]
  for (const [action, fingerprint, options] of usage) {
    const { code, err } = await run(action, fingerprint, { admin, ...options })
    t.equal(code, 2, `${action} ${JSON.stringify(options)}: ${err}`)
  }
})
