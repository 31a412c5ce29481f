// `oncegate records`: an operator's word from the command line.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { records, type RecordsOptions } from '../../src/cli/records.ts'
import { freePort } from '../helpers/redis-server.ts'
import { fingerprintOf, stage } from '../helpers/stage.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'

const TOKEN = 'a-token-of-the-operators'

async function run(action: string, fingerprint: string, options: Partial<RecordsOptions> & { admin: string }, env = {}) {
  let out = ''
  let err = ''
  const code = await records(action, fingerprint, options, {
    env,
    out: { write: (text) => (out += text) },
    err: { write: (text) => (err += text) },
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
  t.match(await run('show', fingerprint, { admin: `http://127.0.0.1:${await freePort()}` }), {
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

t.test('bad usage: exit 2, and nothing is sent', async (t) => {
  const admin = 'http://127.0.0.1:9'
  const usage: [string, string, Partial<RecordsOptions>][] = [
    ['purge', 'fp', {}],
    ['show', '../x', {}],
    ['show', 'fp', { admin: '127.0.0.1:9080' }],
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
