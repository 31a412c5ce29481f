// Throughput of the gateway as a ratio of a bare @fastify/http-proxy, side by side in one run.
// node build/test/bench/gateway.js [rounds] [seconds]
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RedisServer } from '../helpers/redis-server.ts'
import { until } from '../helpers/until.ts'
import { load, median, type Load } from './load.ts'
import { loadByWrk, wrkIsThere } from './wrk.ts'

const rounds = Number(process.argv[2] ?? 5)
// wrk counts whole seconds.
const seconds = Math.max(1, Math.round(Number(process.argv[3] ?? 2)))
const CONNECTIONS = 64
/** By then the compiler has done its work, which shares the gateway's one core; on a busy machine that takes longer. */
const WARM_UP_REQUESTS = 60_000
const WARM_UP_SECONDS_AT_MOST = 30
const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const children: ChildProcess[] = []
const folder = mkdtempSync(join(tmpdir(), 'oncegate-bench-'))

/** The gateway has one core to itself; load, upstream and Redis share the other. */
const [GATEWAY_CORE, OTHER_CORE] = availableParallelism() > 1 ? ['0', '1'] : ['0', '0']

interface Server {
  url: string
  pid: number
}

/** Its output goes to a file: a pipe that the busy load client reads late would hold up whoever writes its log there. */
async function node(core: string, args: string[]): Promise<Server> {
  const file = join(folder, `output-${children.length}`)
  const output = openSync(file, 'w')
  const child = spawn('taskset', ['-c', core, process.execPath, ...args], { stdio: ['ignore', output, 'inherit'] })
  children.push(child)
  await until('an address', () => addressIn(file) !== undefined, 15_000)
  // A process of its own: taskset becomes what it starts.
  return { url: addressIn(file)!, pid: child.pid! }
}

function addressIn(file: string): string | undefined {
  return /"(?:url|listen)":"(http[^"]+)"/.exec(readFileSync(file, 'utf8'))?.[1]
}

function gateway(upstream: string, store: string): Promise<Server> {
  const file = join(folder, `${store.replace(/\W+/g, '-')}.yaml`)
  writeFileSync(
    file,
    `upstream: ${upstream}\nlisten: 127.0.0.1:0\nadmin: 127.0.0.1:0\nstore: ${store}\nrules:\n  - name: bench\n    match: { path: /guarded }\n    fingerprint: { key: header.idempotency-key }\n`,
  )
  return node(GATEWAY_CORE, [here('../../src/main.js'), 'start', '--config', file])
}

const BODY = JSON.stringify({ amount: 100, currency: 'EUR', note: 'a small body as most are' })

function post(path: string): Load['request'] {
  return (key) =>
    `POST ${path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer bench\r\nContent-Type: application/json\r\nIdempotency-Key: ${key}\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`
}

const wrk = wrkIsThere()

interface Variant extends Pick<Load, 'request' | 'keys'> {
  name: string
  at: Server
  goal: number
}

/** Requests per second, and microseconds of the server's own CPU time for each. */
async function measure({ at, request, keys }: Variant, options: { connections: number; seconds: number }) {
  const demand = { port: Number(new URL(at.url).port), request, keys, ...options }
  const before = cpuMicroseconds(at.pid)
  const rate = wrk ? await loadByWrk(demand, { core: OTHER_CORE!, folder }) : await load(demand)
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
  const upstream = await node(OTHER_CORE!, [here('bench-upstream.js')])
  const bare = await node(GATEWAY_CORE!, [here('bare-proxy.js'), upstream.url])
  const onRedis = await gateway(upstream.url, redis.url)
  const onLmdb = await gateway(upstream.url, `lmdb:${join(folder, 'data')}`)
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
  spawn('taskset', ['-pc', OTHER_CORE!, String(process.pid)], { stdio: 'ignore' })
  const redis = await RedisServer.start()
  spawn('taskset', ['-apc', OTHER_CORE!, String(redis.pid)], { stdio: 'ignore' })
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
  for (const child of children) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}
