// Measures the stores by themselves: `node build/test/bench/stores.js [seconds]`. A pair is an acquire and a settle;
// pieces of 1 KiB go to logs of 256 KiB, one a worker, and a reading takes 16 KiB from within one.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomBytes } from 'node:crypto'
import { openStore } from '../../src/stores/open-store.ts'
import type { Store } from '../../src/stores/store.ts'
import { PostgresServer } from '../helpers/postgres-server.ts'
import { RedisServer } from '../helpers/redis-server.ts'
import { acquireOf, newFingerprint, responseOf, settleOf } from '../stores/requests.ts'

const CONCURRENCY = 64
const LOG_BYTES = 262_144
const seconds = Number(process.argv[2] ?? 3)
const response = responseOf(randomBytes(1024), ['content-type', 'application/json', 'etag', '"1"'])

async function rate(work: (worker: number) => Promise<unknown>): Promise<number> {
  const endsAt = performance.now() + seconds * 1000
  let done = 0
  const worker = async (n: number): Promise<void> => {
    while (performance.now() < endsAt) {
      await work(n)
      done++
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, (_, n) => worker(n)))
  return Math.round(done / seconds)
}

async function logs(store: Store): Promise<{ appends: number; readings: number }> {
  const piece = randomBytes(1024)
  const streams = Array.from({ length: CONCURRENCY }, () => ({ request: acquireOf(newFingerprint()), offset: LOG_BYTES }))
  const appends = await rate(async (worker) => {
    const stream = streams[worker]!
    if (stream.offset === LOG_BYTES) {
      stream.request = acquireOf(newFingerprint())
      stream.offset = 0
      await store.acquire(stream.request)
    }
    await store.append({ ...stream.request, offset: stream.offset, chunk: piece, head: response.head })
    stream.offset += piece.length
  })
  const readings = await rate(async (worker) => {
    const { request, offset } = streams[worker]!
    await store.readLog({ ...request, offset: Math.floor(Math.random() * offset), maxBytes: 16_384 })
  })
  return { appends, readings }
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
  const figures = { pairs, replays, refusals, ...(await logs(store)) }
  console.log(
    name.padEnd(9) +
      Object.entries(figures)
        .map(([what, figure]) => `${String(figure).padStart(8)} ${what}/s`)
        .join(''),
  )
  await store.close()
}

const options = { timeoutMs: 10_000, warn: () => undefined }
const directory = await mkdtemp(join(tmpdir(), 'oncegate-bench-'))
const server = await RedisServer.start(['--appendonly', 'no'])
const postgres = await PostgresServer.start(['fsync=on', 'full_page_writes=on', 'shared_buffers=128MB', 'autovacuum=on'])
await measure('memory', await openStore('memory:', options))
await measure('lmdb', await openStore(`lmdb:${directory}`, options))
await measure('redis', await openStore(server.url, options))
await measure('postgres', await openStore(postgres.url(), options))
await server.stop()
await postgres.stop()
await rm(directory, { recursive: true, force: true })
