import t from 'tap'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../../src/stores/open-store.ts'
import { until, within } from '../helpers/until.ts'
import { startPeer } from './lmdb-peer.ts'
import { acquireOf, newFingerprint, renewOf, responseOf, settleOf } from './requests.ts'
import { latch, storeContract } from './store-contract.ts'

const options = { timeoutMs: 5000, warn: (message: string) => t.comment(message) }

async function directory(t: { teardown: (end: () => Promise<void>) => void }): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'oncegate-lmdb.'))
  t.teardown(() => rm(path, { recursive: true, force: true }))
  return path
}

t.test('the LMDB store keeps the contract', async (t) => {
  const url = `lmdb:${await directory(t)}`
  await storeContract(t, async () => ({ store: await openStore(url, options), peer: await openStore(url, options) }))
})

t.test('two processes race for 1,000 fingerprints: each has exactly one winner', async (t) => {
  const path = await directory(t)
  const peers = [startPeer(path), startPeer(path)]
  t.teardown(async () => void (await Promise.all(peers.map((peer) => peer.kill()))))
  await Promise.all(peers.map((peer) => peer.ready))
  const fingerprints = Array.from({ length: 1000 }, newFingerprint)
  const won = (await Promise.all(peers.map((peer) => peer.ask({ verb: 'race', fingerprints })))) as string[][]
  t.equal(won.flat().length, 1000)
  t.equal(new Set(won.flat()).size, 1000)
  t.ok(
    won.every((each) => each.length > 0),
    `both took part: ${won.map((each) => each.length).join(' and ')}`,
  )
})

t.test('a settle that was acknowledged is there after kill -9 of its process', async (t) => {
  const path = await directory(t)
  const store = await openStore(`lmdb:${path}`, options)
  t.teardown(() => store.close())
  for (let round = 0; round < 5; round++) {
    const peer = startPeer(path)
    await peer.ready
    const request = acquireOf(newFingerprint())
    const settle = settleOf(request, 'completed')
    t.equal(await peer.ask({ verb: 'once', request, settle: { ...settle, response: undefined }, body: `round ${round}` }), 'ok')
    await peer.kill()
    t.match(await store.acquire(acquireOf(request.fingerprint)), { kind: 'completed', response: { body: Buffer.from(`round ${round}`) } })
  }
})

t.test('a claim of a killed process is in flight until its lease runs out, then unknown', async (t) => {
  const path = await directory(t)
  const store = await openStore(`lmdb:${path}`, options)
  t.teardown(() => store.close())
  const peer = startPeer(path)
  await peer.ready
  const request = acquireOf(newFingerprint(), { leaseMs: 400 })
  t.equal(await peer.ask({ verb: 'acquire', request }), 'acquired')
  await peer.kill()
  t.equal((await store.acquire(acquireOf(request.fingerprint))).kind, 'in_flight')
  await until('unknown', async () => (await store.acquire(acquireOf(request.fingerprint))).kind === 'unknown', 2000)
})

t.test('a watcher hears of a settling in another process, typically within 50 ms', async (t) => {
  const path = await directory(t)
  const store = await openStore(`lmdb:${path}`, options)
  const peer = startPeer(path)
  t.teardown(async () => {
    await peer.kill()
    await store.close()
  })
  await peer.ready
  const delays: number[] = []
  for (let round = 0; round < 15; round++) {
    const request = acquireOf(newFingerprint())
    await store.acquire(request)
    const called = latch()
    const stop = await store.watch(request.fingerprint, called.open)
    const settle = { ...settleOf(request, 'completed'), response: undefined }
    const settledAt = peer.ask({ verb: 'settle', settle, body: 'done' })
    await within('the call', called.opened)
    const heardAt = Date.now()
    t.equal((await store.read(request.fingerprint))?.status, 'completed')
    delays.push(heardAt - Number(await settledAt))
    stop()
  }
  const median = delays.sort((a, b) => a - b)[7] ?? Infinity
  t.comment(`median ${median} ms, longest ${delays.at(-1)} ms`)
  t.ok(median < 50, `median ${median} ms`)
})

t.test('a full disk is the store being out of reach, not the end of the process', async (t) => {
  const peer = startPeer(await directory(t), 2048)
  t.teardown(() => peer.kill())
  await peer.ready
  t.equal(await peer.ask({ verb: 'fill' }), 'StoreUnavailable')
  t.equal(await peer.ask({ verb: 'fill' }), 'StoreUnavailable', 'it still answers')
})

t.test('expired records leave the disk: record, body and index', async (t) => {
  const { openEnvironment } = await import('../../src/stores/lmdb/environment.ts')
  const { sweep } = await import('../../src/stores/lmdb/expiry.ts')
  const path = await directory(t)
  const store = await openStore(`lmdb:${path}`, options)
  const environment = openEnvironment(path)
  const requests = Array.from({ length: 20 }, () => acquireOf(newFingerprint(), { leaseMs: 1000, ttlMs: 1000 }))
  await Promise.all(requests.map((request) => store.acquire(request)))
  const [renewed, ...settled] = requests
  if (renewed === undefined) return t.fail('no request')
  await Promise.all(settled.map((request) => store.settle(settleOf(request, 'completed', { response: responseOf('body') }))))
  await store.renew({ ...renewOf(renewed), leaseMs: 3_600_000, ttlMs: 1000 })
  const later = Date.now() + 600_000
  while (await sweep(environment, later));
  environment.refresh()
  t.same([...environment.records.getKeys()], [renewed.fingerprint], 'only the living one is left')
  t.equal(environment.bodies.getKeysCount(), 0)
  t.equal(environment.expiry.getKeysCount(), 1, 'indexed anew at its later end')
  while (await sweep(environment, later + 3_600_000));
  environment.refresh()
  t.equal(environment.records.getKeysCount() + environment.expiry.getKeysCount(), 0)
  await store.close()
})
