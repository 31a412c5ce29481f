// Measures the stores by themselves: `node build/test/bench/stores.js [seconds]`. A pair is an acquire and a settle.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomBytes } from 'node:crypto'
import { openStore } from '../../src/stores/open-store.ts'
import type { Store } from '../../src/stores/store.ts'
import { RedisServer } from '../helpers/redis-server.ts'
import { acquireOf, newFingerprint, responseOf, settleOf } from '../stores/requests.ts'

const CONCURRENCY = 64
const seconds = Number(process.argv[2] ?? 3)
const response = responseOf(randomBytes(1024), ['content-type', 'application/json', 'etag', '"1"'])

async function rate(work: () => Promise<unknown>): Promise<number> {
  const endsAt = performance.now() + seconds * 1000
  let done = 0
  const worker = async (): Promise<void> => {
    while (performance.now() < endsAt) {
      await work()
      done++
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
  return Math.round(done / seconds)
}

async function measure(name: string, store: Store): Promise<void> {
  const pair = async (): Promise<void> => {
    const request = acquireOf(newFingerprint())
    await store.acquire(request)
    await store.settle(settleOf(request, 'completed', { response }))
  }
  const settled = acquireOf(newFingerprint())
  const running = acquireOf(newFingerprint())
  await store.acquire(settled)
  await store.settle(settleOf(settled, 'completed', { response }))
  await store.acquire(running)
  const pairs = await rate(pair)
  const replays = await rate(() => store.acquire(acquireOf(settled.fingerprint)))
  const refusals = await rate(() => store.acquire(acquireOf(running.fingerprint)))
  console.log(
    `${name.padEnd(8)} ${String(pairs).padStart(8)} pairs/s ${String(replays).padStart(8)} replays/s ${String(refusals).padStart(8)} refusals/s`,
  )
  await store.close()
}

const options = { timeoutMs: 10_000, warn: () => undefined }
const directory = await mkdtemp(join(tmpdir(), 'oncegate-bench-'))
const server = await RedisServer.start(['--appendonly', 'no'])
await measure('memory', await openStore('memory:', options))
await measure('lmdb', await openStore(`lmdb:${directory}`, options))
await measure('redis', await openStore(server.url, options))
await server.stop()
await rm(directory, { recursive: true, force: true })
