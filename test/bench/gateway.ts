// Throughput of the gateway as a ratio of a bare @fastify/http-proxy, side by side in one run.
// node build/test/bench/gateway.js [rounds] [seconds]
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { RedisServer } from '../helpers/redis-server.ts'
import { load, median, type Load } from './load.ts'
import { Bench, GATEWAY_CORE, OTHER_CORE, type Running } from './processes.ts'
import { loadByWrk, wrkIsThere } from './wrk.ts'

const rounds = Number(process.argv[2] ?? 5)
// wrk counts whole seconds.
const seconds = Math.max(1, Math.round(Number(process.argv[3] ?? 2)))
const CONNECTIONS = 64
/** By then the compiler has done its work, which shares the gateway's one core; on a busy machine that takes longer. */
const WARM_UP_REQUESTS = 60_000
const WARM_UP_SECONDS_AT_MOST = 30
const bench = new Bench()

const BODY = JSON.stringify({ amount: 100, currency: 'EUR', note: 'a small body as most are' })

function post(path: string): Load['request'] {
  return (key) =>
    `POST ${path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer bench\r\nContent-Type: application/json\r\nIdempotency-Key: ${key}\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`
}

const wrk = wrkIsThere()

interface Variant extends Pick<Load, 'request' | 'keys'> {
  name: string
  at: Running
  goal: number
}

/** Requests per second, and microseconds of the server's own CPU time for each. */
async function measure({ at, request, keys }: Variant, options: { connections: number; seconds: number }) {
  const demand = { port: Number(new URL(at.url).port), request, keys, ...options }
  const before = cpuMicroseconds(at.pid)
  const rate = wrk ? await loadByWrk(demand, { core: OTHER_CORE, folder: bench.folder }) : await load(demand)
  return { rate, cpu: (cpuMicroseconds(at.pid) - before) / (rate * options.seconds) }
}

async function warmUp(variant: Variant): Promise<void> {
  // Alone at first: what is to be replayed must have been stored.
  if (variant.keys === 'one') await measure(variant, { connections: 1, seconds: 1 })
  let requests = 0
  for (let spent = 0; requests < WARM_UP_REQUESTS && spent < WARM_UP_SECONDS_AT_MOST; spent += 3) {
    requests += 3 * (await measure(variant, { connections: CONNECTIONS, seconds: 3 })).rate
  }
}

/** proc(5): user and system time, in hundredths of a second. NaN where there is no /proc. */
function cpuMicroseconds(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]!.split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10_000
  } catch {
    return Number.NaN
  }
}

async function variants(redis: RedisServer): Promise<Variant[]> {
  const upstream = await bench.other('bench-upstream.js')
  const bare = await bench.bare(upstream.url)
  const onRedis = await bench.gateway(upstream.url, redis.url)
  const onLmdb = await bench.gateway(upstream.url, `lmdb:${join(bench.folder, 'data')}`)
  const fresh = { request: post('/guarded'), keys: 'fresh' } as const
  const same = { request: post('/guarded'), keys: 'one' } as const
  const free = { request: post('/free'), keys: 'fresh' } as const
  return [
    { name: 'bare http-proxy, pass-through', at: bare, ...free, goal: 1 },
    { name: 'oncegate, pass-through', at: onRedis, ...free, goal: 0.95 },
    { name: 'oncegate, unique keys, Redis', at: onRedis, ...fresh, goal: 1.2 },
    { name: 'oncegate, unique keys, LMDB', at: onLmdb, ...fresh, goal: 1.1 },
    { name: 'oncegate, replays, Redis', at: onRedis, ...same, goal: 2.2 },
    { name: 'oncegate, replays, LMDB', at: onLmdb, ...same, goal: 2.5 },
  ]
}

async function main(): Promise<void> {
  const client = wrk ? 'wrk' : 'the built-in client, which costs as much as a gateway and hides what they differ in: install wrk'
  process.stdout.write(`load by ${client}; gateway on core ${GATEWAY_CORE}, load, backend and Redis on core ${OTHER_CORE}\n`)
  const redis = await RedisServer.start()
  spawn('taskset', ['-apc', OTHER_CORE, String(redis.pid)], { stdio: 'ignore' })
  const all = await variants(redis)
  const results = all.map(() => [] as { rate: number; cpu: number }[])
  for (const variant of all) await warmUp(variant)
  for (let round = 0; round < rounds; round++) {
    for (const [i, variant] of all.entries()) results[i]!.push(await measure(variant, { connections: CONNECTIONS, seconds }))
  }
  const base = medians(results[0]!)
  for (const [i, { name, goal }] of all.entries()) {
    const { rate, cpu } = medians(results[i]!)
    const byRate = `${rate.toFixed(0).padStart(7)}/s ${(rate / base.rate).toFixed(2).padStart(5)} (goal ${goal})`
    process.stdout.write(
      `${name.padEnd(32)}${byRate.padEnd(28)} ${cpu.toFixed(0).padStart(4)} µs of CPU ${(base.cpu / cpu).toFixed(2).padStart(5)}\n`,
    )
  }
  await redis.stop()
}

function medians(results: readonly { rate: number; cpu: number }[]): { rate: number; cpu: number } {
  return { rate: median(results.map(({ rate }) => rate)), cpu: median(results.map(({ cpu }) => cpu)) }
}

try {
  await main()
} finally {
  bench.close()
}
