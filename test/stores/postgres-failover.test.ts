// The primary is lost and its synchronous standby takes over: nothing that was confirmed is forgotten.
import { inspect } from 'node:util'
import t from 'tap'
import { openStore } from '../../src/stores/open-store.ts'
import { PostgresServer } from '../helpers/postgres-server.ts'
import { TcpProxy } from '../helpers/tcp-proxy.ts'
import { until } from '../helpers/until.ts'
import { acquireOf, newFingerprint, responseOf, settleOf } from './requests.ts'

t.test('what was confirmed before a fail-over is there after it, and no claim is granted twice', async (t) => {
  const primary = await PostgresServer.start(['wal_level=replica', 'hot_standby=on'])
  t.teardown(() => primary.stop())
  const standby = await primary.standby('second')
  t.teardown(() => standby.stop())
  await primary.sql(`ALTER SYSTEM SET synchronous_standby_names = 'second'`)
  await primary.sql('SELECT pg_reload_conf()')
  const inSync = async (): Promise<boolean> => (await primary.sql(`SELECT FROM pg_stat_replication WHERE sync_state = 'sync'`)).length > 0
  await until('the standby follows', inSync)

  // The name that all gateways know.
  const name = await TcpProxy.start(primary.port)
  t.teardown(() => name.stop())
  const open = () => openStore(`postgres://postgres@127.0.0.1:${name.port}/postgres`, { timeoutMs: 1000, warn: () => undefined })
  const stores = [await open(), await open()]
  t.teardown(() => Promise.all(stores.map((store) => store.close())))
  const store = stores[0]!

  const granted: ReturnType<typeof acquireOf>[] = []
  const settled: typeof granted = []
  let going = true
  const work = async (): Promise<void> => {
    while (going) {
      const request = acquireOf(newFingerprint())
      try {
        if ((await store.acquire(request)).kind === 'acquired') granted.push(request)
        if ((await store.settle(settleOf(request, 'completed', { response: responseOf(request.executionId) }))) === 'ok')
          settled.push(request)
      } catch {
        return
      }
    }
  }
  const workers = Array.from({ length: 8 }, work)
  await until('some are settled', () => settled.length > 200)
  await primary.kill()
  name.cut()
  await Promise.all(workers)
  going = false

  await standby.sql('SELECT pg_promote()')
  // First the name still leads to a server that is gone, then to its successor.
  await t.rejects(store.ping())
  name.targetPort = standby.port
  await until('the store is back', () =>
    store.ping().then(
      () => true,
      () => false,
    ),
  )
  t.ok(granted.length >= settled.length && settled.length > 200)
  for (const request of granted) {
    const claim = await stores[1]!.acquire(acquireOf(request.fingerprint))
    t.not(claim.kind, 'acquired')
    if (settled.includes(request) && claim.kind === 'completed') t.equal(claim.response.body?.toString(), request.executionId)
    else if (settled.includes(request)) t.fail(`settled, and now ${claim.kind}`)
  }
})

t.test('a standby that the name leads to is out of reach for every reading, too: what it has may be old', async (t) => {
  const primary = await PostgresServer.start(['wal_level=replica', 'hot_standby=on'])
  t.teardown(() => primary.stop())
  const standby = await primary.standby('second')
  t.teardown(() => standby.stop())
  const name = await TcpProxy.start(primary.port)
  t.teardown(() => name.stop())
  const store = await openStore(`postgres://postgres@127.0.0.1:${name.port}/postgres`, { timeoutMs: 1000, warn: () => undefined })
  t.teardown(() => store.close())
  const request = acquireOf(newFingerprint())
  await store.acquire(request)
  await until('the standby has it', async () => (await standby.sql('SELECT FROM oncegate_record').catch(() => [])).length === 1)
  name.targetPort = standby.port
  name.cut()
  const refusal = (): Promise<unknown> =>
    store.ping().then(
      () => undefined,
      (error: unknown) => error,
    )
  await until('it leads to the standby', async () => /read-only/.test(inspect(await refusal())))
  await t.rejects(store.read(request.fingerprint), { cause: { message: /read-only/ } })
  await t.rejects(store.readResponse(request.fingerprint), { cause: { message: /read-only/ } })
  await t.rejects(store.readLog({ ...request, offset: 0, maxBytes: 1 }), { cause: { message: /read-only/ } })
  await t.rejects(store.acquire(acquireOf(request.fingerprint)), { cause: { message: /read-only/ } })
  name.targetPort = primary.port
  // The connections to the standby are open still; the store leaves them by itself.
  await until('the store is back', async () => (await refusal()) === undefined)
  t.match(await store.read(request.fingerprint), { status: 'processing' })
})
