// A store that refuses to write, since it is full: nothing hangs, nothing runs twice, and whoever looks is told why.
import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { type Answer, send } from '../helpers/client.ts'
import { testGateway, type TestGateway } from '../helpers/gateway.ts'
import { RedisServer } from '../helpers/redis-server.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import { until, within } from '../helpers/until.ts'
import { latch, startUpstream, type TestUpstream } from '../helpers/upstream.ts'

const LEASE_MS = 1000
const BODY = 'x'.repeat(50_000)

function rules(more = ''): string {
  return `
  - name: pay
    match: { path: /* }
    fingerprint: { key: header.idempotency-key }
    lease: ${LEASE_MS}ms
${more}`
}

/** `/slow` is answered when the door is open; everything else at once. */
async function scene(t: Test, store: string, options: { top: string; more?: string }) {
  const door = latch()
  const upstream: TestUpstream = await startUpstream(async (request, response) => {
    if (request.url === '/slow') await door.opened
    response.end(BODY)
  })
  const gateway = await testGateway({ upstream: upstream.url, store, rules: rules(options.more), top: options.top })
  t.teardown(async () => {
    await gateway.close()
    await upstream.close()
  })
  await until('it is ready', async () => (await send(`${gateway.adminUrl}/readyz`, { method: 'GET' })).status === 200)
  return { gateway, upstream, open: door.open }
}

function ask(gateway: TestGateway, path: string, key: string): Promise<Answer> {
  return send(`${gateway.url}${path}`, { headers: { authorization: 'Bearer a', 'idempotency-key': key } })
}

async function folder(t: Test): Promise<string> {
  const { path, remove } = await temporaryDirectory()
  t.teardown(remove)
  return path
}

function refused(t: Test, answer: Answer, tookMs: number): void {
  t.match(answer, { status: 503, headers: { 'oncegate-error': 'store-unavailable', 'retry-after': /^[1-9]/ } })
  t.ok(tookMs < 3000, `in ${tookMs} ms`)
}

/** Asks with new keys until one is refused. */
async function fill(t: Test, gateway: TestGateway, name: string, most: number): Promise<number> {
  for (let n = 0; n < most; n++) {
    const began = performance.now()
    const answer = await ask(gateway, '/fast', `${name}${n}`)
    if (answer.status === 200) continue
    refused(t, answer, performance.now() - began)
    return n
  }
  throw new Error('never full')
}

function told(gateway: TestGateway, what: RegExp): boolean {
  return gateway.log.some(({ msg }) => what.test(String(msg)))
}

const isReplay = (answer: Answer): boolean => answer.headers['idempotency-replayed'] === 'true'

t.test('Redis out of memory: refused, no claim left behind; what ran is spooled, and stored when there is room', async (t) => {
  const redis = await RedisServer.start(['--maxmemory-policy', 'noeviction'])
  t.teardown(() => redis.stop())
  const operator = new Redis(redis.url)
  t.teardown(() => operator.disconnect())
  const { gateway, upstream, open } = await scene(t, redis.url, { top: `storeTimeout: 400ms\nspool: ${await folder(t)}` })
  t.equal((await ask(gateway, '/fast', 'done')).status, 200)
  const first = ask(gateway, '/slow', 'runs')
  await within('the execution', upstream.arrived(2))
  const before = (await operator.keys('*')).toSorted()
  await operator.config('SET', 'maxmemory', '1')
  const began = performance.now()
  refused(t, await ask(gateway, '/fast', 'new'), performance.now() - began)
  t.ok(told(gateway, /did not answer: acquire: OOM/), 'the log says why')
  t.ok(isReplay(await ask(gateway, '/fast', 'done')), 'duplicates are answered')
  // Leases are renewed all the same.
  await new Promise((resolve) => setTimeout(resolve, 1.5 * LEASE_MS))
  open()
  t.match(await within('its answer', first), { status: 503, headers: { 'oncegate-error': 'result-pending' } })
  t.match(await ask(gateway, '/slow', 'runs'), { status: 503, headers: { 'oncegate-error': 'result-pending' } })
  t.same((await operator.keys('*')).toSorted(), before, 'what was refused has left nothing')
  await operator.config('SET', 'maxmemory', '0')
  await until('the replay', async () => isReplay(await ask(gateway, '/slow', 'runs')))
  t.equal((await ask(gateway, '/fast', 'new')).status, 200)
  t.equal(upstream.count('/slow'), 1)
  t.equal(upstream.count('/fast'), 2, 'what was refused was not sent')
})

t.test('LMDB at its limit: refused at once and told why; what runs is stored; new ones again when results have expired', async (t) => {
  const store = `lmdb:${join(await folder(t), 'db')}?maxSize=2MiB`
  const { gateway, upstream, open } = await scene(t, store, { top: 'storeTimeout: 2s', more: '    ttl: 2s\n' })
  const first = ask(gateway, '/slow', 'runs')
  await within('the execution', upstream.arrived(1))
  const filled = await fill(t, gateway, 'k', 100)
  t.ok(filled > 10, `${filled} results of 50 kB in 2 MiB`)
  t.ok(told(gateway, /the embedded store is full/))
  const began = performance.now()
  const answer = await ask(gateway, '/fast', 'another')
  t.match(answer.json(), { type: 'urn:oncegate:store-unavailable', detail: /no room/, retry: 'same-key' })
  t.ok(performance.now() - began < 1000, 'asking the store again and again would be of no use')
  open()
  t.match(await first, { status: 200, text: BODY })
  t.ok(isReplay(await ask(gateway, '/slow', 'runs')))
  await until('room', async () => (await ask(gateway, '/fast', 'later')).status === 200, 10_000)
  t.equal(upstream.count('/slow'), 1)
})

t.test('a disk that somebody else fills: refused while it is full, and the result of what ran is stored afterwards', async (t) => {
  const disk = await folder(t)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'none', disk], { stdio: 'ignore' })
  } catch {
    t.comment('nothing may be mounted here: left out')
    return
  }
  t.teardown(() => void execFileSync('umount', ['-l', disk]))
  const { gateway, upstream, open } = await scene(t, `lmdb:${join(disk, 'db')}`, { top: 'storeTimeout: 500ms' })
  const first = ask(gateway, '/slow', 'runs')
  await within('the execution', upstream.arrived(1))
  t.throws(() => writeFileSync(join(disk, 'other'), Buffer.alloc(16 * 1024 ** 2)), { code: 'ENOSPC' })
  await fill(t, gateway, 'k', 100)
  open()
  t.match(await within('its answer', first), { status: 503, headers: { 'oncegate-error': 'result-pending' } })
  t.ok(told(gateway, /did not answer: settle: No space left/), 'the log says why')
  rmSync(join(disk, 'other'))
  await until('the replay', async () => isReplay(await ask(gateway, '/slow', 'runs')))
  // Room is measured now and then.
  await until('a new one', async () => (await ask(gateway, '/fast', 'new')).status === 200)
  t.equal(upstream.count('/slow'), 1)
})
