// A master is lost or becomes a replica: what was confirmed by a replica is not forgotten, and nothing is asked of the wrong server.
import t, { type Test } from 'tap'
import { openStore } from '../../src/stores/open-store.ts'
import { recordKeys } from '../../src/stores/redis/keys.ts'
import { slotOf } from '../../src/stores/redis/slot.ts'
import { type AcquireRequest, type Store, StoreUnavailable } from '../../src/stores/store.ts'
import { startCluster } from '../helpers/redis-cluster.ts'
import { ask, follow, isMaster, type ReplicatedRedis } from '../helpers/redis-replicated.ts'
import { startSentinel } from '../helpers/redis-sentinel.ts'
import type { RedisServer } from '../helpers/redis-server.ts'
import { TcpProxy } from '../helpers/tcp-proxy.ts'
import { until, within } from '../helpers/until.ts'
import { acquireOf, bodyOf, newFingerprint, responseOf, settleOf } from './requests.ts'

t.setTimeout(120_000)

const TIMEOUT_MS = 1000
const GRACE_MS = 300
const BACK_WITHIN_MS = 20_000
const TOPOLOGIES = { sentinel: startSentinel, cluster: startCluster }

function open(t: Test, url: string, replicasAck = 1): Promise<Store> {
  const opened = openStore(url, { timeoutMs: TIMEOUT_MS, warn: () => undefined, replicasAck })
  t.teardown(async () => (await opened).close())
  return opened
}

/** Takes claims everywhere, so that a cluster's every master has its turn. */
async function works(store: Store): Promise<boolean> {
  const claims = Array.from({ length: 24 }, () => store.acquire(acquireOf(newFingerprint())))
  return (await Promise.allSettled(claims)).every(({ status }) => status === 'fulfilled')
}

function answers(call: Promise<unknown>): Promise<boolean> {
  return call.then(
    () => true,
    () => false,
  )
}

async function refusedInTime(t: Test, call: Promise<unknown>, what: string): Promise<void> {
  const began = performance.now()
  await t.rejects(call, StoreUnavailable, what)
  const took = performance.now() - began
  t.ok(took <= TIMEOUT_MS + GRACE_MS, `${what}: ${took} ms`)
}

for (const [name, start] of Object.entries(TOPOLOGIES)) {
  t.test(`${name}: kill -9 of a master under load`, async (t) => {
    const servers = await start()
    t.teardown(() => servers.stop())
    const [store, peer] = [await open(t, servers.url), await open(t, servers.url)]
    const fingerprint = newFingerprint()
    const master = (await servers.master(fingerprint))!
    const watched = acquireOf(fingerprint)
    await store.acquire(watched)
    let rung = 0
    await peer.watch(fingerprint, () => rung++)

    const load = claimAndSettle(t, store, fingerprint)
    await until('some are settled', () => load.settled.length > 100)
    await master.kill()
    await until('another master', async () => ![undefined, master].includes(await servers.master(fingerprint)), BACK_WITHIN_MS)
    await until('the new one is asked', () => answers(store.read(fingerprint)))
    // A master without a replica grants nothing.
    if (name === 'cluster') await master.restart()
    await until('it works again', () => works(store), BACK_WITHIN_MS)
    await load.stop()

    await nothingForgotten(t, peer, load)
    const before = rung
    t.equal(await store.settle(settleOf(watched, 'completed')), 'ok', 'what ran on settles afterwards')
    await until('a watcher is told by the new master', () => rung > before)
  })

  t.test(`${name}: without the replicas that it asks for, no claim is granted and no result confirmed`, async (t) => {
    const servers = await start()
    t.teardown(() => servers.stop())
    const store = await open(t, servers.url)
    const running = acquireOf(newFingerprint())
    const writing = acquireOf(newFingerprint(running.fingerprint))
    for (const request of [running, writing]) await store.acquire(request)
    const replicas = await servers.replicasOf((await servers.master(running.fingerprint))!)
    t.ok(replicas.length > 0)
    for (const replica of replicas) replica.pause()
    const refused = acquireOf(newFingerprint(running.fingerprint))
    await refusedInTime(t, store.acquire(refused), 'the claim')
    await refusedInTime(t, store.settle(settleOf(running, 'completed')), 'the result')
    const piece = { fingerprint: writing.fingerprint, executionId: writing.executionId, offset: 0, chunk: Buffer.from('x') }
    if (name === 'sentinel') await refusedInTime(t, store.secret('s'), 'the secret')
    await refusedInTime(t, store.append({ ...piece, head: { status: 200, headers: [] } }), 'a piece')
    // What costs no second execution when it is lost waits for nobody.
    t.equal((await store.acquire(acquireOf(running.fingerprint))).kind, 'completed')
    t.equal((await store.read(running.fingerprint))?.status, 'completed')
    t.equal(await store.settle(settleOf(refused, 'failed')), 'ok', 'the claim is taken back')
    for (const replica of replicas) replica.resume()
    await until('it works again', () => works(store), BACK_WITHIN_MS)
    t.equal(await store.settle(settleOf(running, 'completed')), 'ok', 'sent again, it is confirmed')
    t.match(await store.acquire(acquireOf(refused.fingerprint)), { kind: 'acquired', attempt: 2, after: 'failed' })
  })
}

interface Work {
  readonly granted: AcquireRequest[]
  readonly settled: AcquireRequest[]
  stop(): Promise<void>
}

/** Eight at a time; half of them beside the given name, which is to be at the master that is lost. */
function claimAndSettle(t: Test, store: Store, beside: string): Work {
  const [granted, settled]: [AcquireRequest[], AcquireRequest[]] = [[], []]
  let going = true
  const work = async (_: unknown, n: number): Promise<void> => {
    while (going) {
      const request = acquireOf(n % 2 === 0 ? newFingerprint(beside) : newFingerprint())
      try {
        if ((await store.acquire(request)).kind === 'acquired') granted.push(request)
        if ((await store.settle(settleOf(request, 'completed', { response: responseOf(request.executionId) }))) === 'ok')
          settled.push(request)
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  }
  const workers = Array.from({ length: 8 }, work)
  t.teardown(() => void (going = false))
  return {
    granted,
    settled,
    stop: async () => {
      going = false
      await within('the end of the load', Promise.all(workers))
    },
  }
}

async function nothingForgotten(t: Test, store: Store, { granted, settled }: Work): Promise<void> {
  const ends: Record<string, number> = {}
  for (const request of granted) {
    const claim = await store.acquire(acquireOf(request.fingerprint))
    const confirmed = settled.includes(request)
    const end = `${confirmed ? 'settled' : 'granted'}, then ${claim.kind}`
    ends[end] = (ends[end] ?? 0) + 1
    if (claim.kind === 'completed' && (await bodyOf(store, request, claim.response)).toString() !== request.executionId)
      t.fail('another body')
  }
  t.comment(JSON.stringify(ends))
  const allowed = ['settled, then completed', 'granted, then completed', 'granted, then in_flight']
  t.same(
    Object.keys(ends).filter((end) => !allowed.includes(end)),
    [],
  )
}

/** By somebody who wants it so, while the master is well. */
const REPLACED = {
  // The sentinels promote one replica while the others still follow the old master: only all of them together know better.
  sentinel: {
    replicasAck: 2,
    replace: async ({ url }: ReplicatedRedis): Promise<unknown> => {
      const { port } = new URL(url.replace(/,.*/, '').replace('redis+sentinel', 'redis'))
      return ask(Number(port), (client) => client.call('SENTINEL', 'FAILOVER', 'once'))
    },
  },
  cluster: {
    replicasAck: 1,
    replace: async (servers: ReplicatedRedis, master: RedisServer): Promise<unknown> => {
      const [replica] = await servers.replicasOf(master)
      return ask(replica!.port, (client) => client.call('CLUSTER', 'FAILOVER'))
    },
  },
}

for (const [name, start] of Object.entries(TOPOLOGIES)) {
  t.test(`${name}: a master that is replaced while it works forgets nothing, and is left`, async (t) => {
    const { replicasAck, replace } = REPLACED[name as keyof typeof REPLACED]
    const servers = await start()
    t.teardown(() => servers.stop())
    const [store, peer] = [await open(t, servers.url, replicasAck), await open(t, servers.url, replicasAck)]
    const fingerprint = newFingerprint()
    const old = (await servers.master(fingerprint))!
    const load = claimAndSettle(t, store, fingerprint)
    await until('some are settled', () => load.settled.length > 100)
    await replace(servers, old)
    await until('another master', async () => ![undefined, old].includes(await servers.master(fingerprint)), BACK_WITHIN_MS)
    await until('it works', () => works(store), BACK_WITHIN_MS)
    await load.stop()
    await nothingForgotten(t, peer, load)
  })
}

t.test('sentinel: a master that stood still until another took its place is not used by those who are connected to it', async (t) => {
  const servers = await startSentinel()
  t.teardown(() => servers.stop())
  const store = await open(t, servers.url, 0)
  const old = (await servers.master())!
  await store.acquire(acquireOf(newFingerprint()))
  old.pause()
  await until('another master', async () => ![undefined, old].includes(await servers.master()), BACK_WITHIN_MS)
  old.resume()
  // It takes itself for the master until the sentinels tell it, which they do after ten seconds.
  const isNew = async (): Promise<boolean> => {
    const request = acquireOf(newFingerprint())
    if (!(await answers(store.acquire(request)))) return false
    return (await ask((await servers.master())!.port, (client) => client.exists(recordKeys(request.fingerprint)[0]))) === 1
  }
  await until('the new one is used', isNew, 4000)
  t.ok(await isMaster(old))
})

t.test('one server that becomes a replica is left at once: its name leads to the new master by then', async (t) => {
  const servers = await startSentinel({ replicas: 1 })
  const [server, other] = servers.servers as [RedisServer, RedisServer]
  const name = await TcpProxy.start(server.port)
  const store = await openStore(`redis://127.0.0.1:${name.port}`, { timeoutMs: TIMEOUT_MS, warn: () => undefined })
  t.teardown(async () => {
    await store.close()
    await name.stop()
    await servers.stop()
  })
  const request = acquireOf(newFingerprint())
  await store.acquire(request)
  await follow(other, undefined)
  await follow(server, other)
  await refusedInTime(t, store.acquire(acquireOf(newFingerprint())), 'a claim')
  await refusedInTime(t, store.settle(settleOf(request, 'completed')), 'a result')
  // The connection stands, to what was the master.
  await until('the old connection', () => answers(store.ping()))
  name.targetPort = other.port
  await t.rejects(store.settle(settleOf(request, 'completed')), StoreUnavailable)
  await until('it works', () => works(store))
  t.equal(await store.settle(settleOf(request, 'completed')), 'ok')
})

t.test(
  'cluster: a slot that moves to another node is followed without a fault, and scripts that a node does not know are sent in full',
  async (t) => {
    const servers = await startCluster()
    t.teardown(() => servers.stop())
    const store = await open(t, servers.url)
    const request = acquireOf(newFingerprint())
    const from = (await servers.master(request.fingerprint))!
    const to = (await mastersOf(servers)).find(({ port }) => port !== from.port)!
    const slot = String(slotOf(recordKeys(request.fingerprint)[0]))
    t.ok(await works(store))
    const id = await ask(to.port, (client) => client.call('CLUSTER', 'MYID') as Promise<string>)
    for (const { port } of [to, from, ...(await mastersOf(servers))]) {
      await ask(port, (client) => client.call('CLUSTER', 'SETSLOT', slot, 'NODE', id))
    }
    t.equal((await store.acquire(request)).kind, 'acquired')
    for (const { port } of servers.servers) await ask(port, (client) => client.call('SCRIPT', 'FLUSH'))
    t.ok(await works(store))
    t.equal(await store.settle(settleOf(request, 'completed')), 'ok')
  },
)

async function mastersOf(servers: ReplicatedRedis): Promise<RedisServer[]> {
  const found = new Set<RedisServer>()
  for (let n = 0; found.size < 3 && n < 200; n++) found.add((await servers.master(newFingerprint()))!)
  return [...found]
}

t.test('cluster: a node that is known alone leads to all, and a cluster that is down at the start is found when it is up', async (t) => {
  const servers = await startCluster()
  t.teardown(() => servers.stop())
  const [first] = servers.servers
  const store = await open(t, `redis+cluster://127.0.0.1:1,127.0.0.1:${first!.port}`)
  await until('it works', () => works(store), BACK_WITHIN_MS)
  for (const server of servers.servers) server.pause()
  const late = await open(t, servers.url)
  await refusedInTime(t, late.acquire(acquireOf(newFingerprint())), 'a claim')
  await refusedInTime(t, late.ping(), 'a ping')
  for (const server of servers.servers) server.resume()
  await until('it works', () => works(late), BACK_WITHIN_MS)
})
