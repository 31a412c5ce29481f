// A Redis that answers, but not with what was asked for: each such answer is a store out of reach, at once, and leaves no claim behind.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openStore } from '../../src/stores/open-store.ts'
import { recordKeys } from '../../src/stores/redis/keys.ts'
import { type Store, StoreUnavailable } from '../../src/stores/store.ts'
import { ask } from '../helpers/redis-replicated.ts'
import { RedisServer } from '../helpers/redis-server.ts'
import { until } from '../helpers/until.ts'
import { acquireOf, newFingerprint, settleOf } from './requests.ts'

const TIMEOUT_MS = 1000
const GRACE_MS = 300

interface Fault {
  readonly settings: readonly string[]
  /** The beginning of what the server answers. */
  readonly says: RegExp
  begin(server: RedisServer): Promise<void>
  end(server: RedisServer): Promise<void>
}

const config = (server: RedisServer, ...words: string[]) => ask(server.port, (client) => client.call('CONFIG', 'SET', ...words))

const FAULTS: Readonly<Record<string, Fault>> = {
  'no memory': {
    settings: [],
    says: /OOM/,
    begin: async (server) => void (await config(server, 'maxmemory', '1')),
    end: async (server) => void (await config(server, 'maxmemory', '0')),
  },
  'no disk for its snapshots': {
    settings: ['--appendonly', 'no', '--save', '3600 1', '--enable-protected-configs', 'yes'],
    says: /MISCONF/,
    begin: async (server) => {
      const gone = await mkdtemp(join(tmpdir(), 'oncegate-gone-'))
      await config(server, 'dir', gone)
      await rm(gone, { recursive: true })
      await ask(server.port, (client) => client.bgsave())
      await until('a snapshot that failed', async () => (await persistence(server)).includes('rdb_last_bgsave_status:err'))
    },
    end: async (server) => {
      await config(server, 'dir', tmpdir(), 'stop-writes-on-bgsave-error', 'no')
    },
  },
  'too few replicas of its own liking': {
    settings: [],
    says: /NOREPLICAS/,
    begin: async (server) => void (await config(server, 'min-replicas-to-write', '1')),
    end: async (server) => void (await config(server, 'min-replicas-to-write', '0')),
  },
}

function persistence({ port }: RedisServer): Promise<string> {
  return ask(port, (client) => client.info('persistence'))
}

async function refused(t: Test, call: Promise<unknown>, says: RegExp): Promise<void> {
  const began = performance.now()
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  t.type(error, StoreUnavailable)
  t.match(error instanceof Error && error.cause, { message: says })
  t.ok(performance.now() - began <= TIMEOUT_MS + GRACE_MS)
}

function open(server: RedisServer): Promise<Store> {
  return openStore(server.url, { timeoutMs: TIMEOUT_MS, warn: () => undefined })
}

for (const [name, fault] of Object.entries(FAULTS)) {
  t.test(name, async (t) => {
    const server = await RedisServer.start(fault.settings)
    const store = await open(server)
    t.teardown(async () => {
      await store.close()
      await server.stop()
    })
    const running = acquireOf(newFingerprint())
    await store.acquire(running)
    await fault.begin(server)
    const late = acquireOf(newFingerprint())
    await refused(t, store.acquire(late), fault.says)
    const piece = { ...running, offset: 0, chunk: Buffer.from('x'), head: { status: 200, headers: [] } }
    await refused(t, store.append(piece), fault.says)
    await refused(t, store.settle(settleOf(running, 'completed')), fault.says)
    t.match(await store.read(running.fingerprint), { status: 'processing' }, 'it can be read')
    for (const key of recordKeys(late.fingerprint)) t.equal(await ask(server.port, (client) => client.exists(key)), 0, 'no claim is left')
    await fault.end(server)
    t.equal((await store.acquire(late)).kind, 'acquired')
    t.equal(await store.settle(settleOf(running, 'completed')), 'ok')
  })
}

t.test('a server that still reads what it has on disk', async (t) => {
  // Half a millisecond for each key.
  const server = await RedisServer.start(['--key-load-delay', '500'])
  const store = await open(server)
  t.teardown(async () => {
    await store.close()
    await server.stop()
  })
  const running = acquireOf(newFingerprint())
  await store.acquire(running)
  await ask(server.port, (client) => client.eval("for n = 1, 4000 do redis.call('SET', 'filler:' .. n, n) end", 0))
  await server.kill()
  const up = server.restart()
  let isUp = false
  void up.then(() => (isUp = true))
  await until('it loads', () => isLoading(server))
  let refusals = 0
  while (!isUp) {
    const began = performance.now()
    await store.acquire(acquireOf(newFingerprint())).catch((error: unknown) => {
      t.type(error, StoreUnavailable)
      refusals++
    })
    t.ok(performance.now() - began <= TIMEOUT_MS + GRACE_MS)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  await up
  t.ok(refusals > 5, `${refusals} refusals`)
  await until('it works', () =>
    store.ping().then(
      () => true,
      () => false,
    ),
  )
  t.equal(await store.settle(settleOf(running, 'completed')), 'ok')
})

async function isLoading(server: RedisServer): Promise<boolean> {
  return (await persistence(server).catch(() => '')).includes('loading:1')
}
