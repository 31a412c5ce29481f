// Throughput of the gateway as a ratio of a bare @fastify/http-proxy, side by side in one run.
// node build/test/bench/gateway.js [rounds] [milliseconds]
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RedisServer } from '../helpers/redis-server.ts'
import { until } from '../helpers/until.ts'
import { load, median } from './load.ts'

const rounds = Number(process.argv[2] ?? 5)
const milliseconds = Number(process.argv[3] ?? 2000)
const CONNECTIONS = 64
const WARM_UP_MS = 8000
const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const children: ChildProcess[] = []
const folder = mkdtempSync(join(tmpdir(), 'oncegate-bench-'))

/** The gateway has one core to itself; load, upstream and Redis share the other. */
const [GATEWAY_CORE, OTHER_CORE] = availableParallelism() > 1 ? ['0', '1'] : ['0', '0']

/** Its output goes to a file: a pipe that the busy load client reads late would hold up whoever writes its log there. */
async function node(core: string, args: string[]): Promise<{ url: string }> {
  const file = join(folder, `output-${children.length}`)
  const output = openSync(file, 'w')
  const child = spawn('taskset', ['-c', core, process.execPath, ...args], { stdio: ['ignore', output, 'inherit'] })
  children.push(child)
  await until('an address', () => addressIn(file) !== undefined, 15_000)
  return { url: addressIn(file)! }
}

function addressIn(file: string): string | undefined {
  return /"(?:url|listen)":"(http[^"]+)"/.exec(readFileSync(file, 'utf8'))?.[1]
}

function gateway(upstream: string, store: string): Promise<{ url: string }> {
  const file = join(folder, `${store.replace(/\W+/g, '-')}.yaml`)
  writeFileSync(
    file,
    `upstream: ${upstream}\nlisten: 127.0.0.1:0\nadmin: 127.0.0.1:0\nstore: ${store}\nrules:\n  - name: bench\n    match: { path: /guarded }\n    fingerprint: { key: header.idempotency-key }\n`,
  )
  return node(GATEWAY_CORE, [here('../../src/main.js'), 'start', '--config', file])
}

const BODY = JSON.stringify({ amount: 100, currency: 'EUR', note: 'a small body as most are' })

function post(path: string, key: (n: number) => string): (n: number) => string {
  return (n) =>
    `POST ${path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer bench\r\nContent-Type: application/json\r\nIdempotency-Key: ${key(n)}\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`
}

async function main(): Promise<void> {
  spawn('taskset', ['-pc', OTHER_CORE, String(process.pid)], { stdio: 'ignore' })
  const redis = await RedisServer.start()
  spawn('taskset', ['-apc', OTHER_CORE, String(redis.pid)], { stdio: 'ignore' })
  const upstream = await node(OTHER_CORE, [here('bench-upstream.js')])
  const bare = await node(GATEWAY_CORE, [here('bare-proxy.js'), upstream.url])
  const onRedis = await gateway(upstream.url, redis.url)
  const onLmdb = await gateway(upstream.url, `lmdb:${join(folder, 'data')}`)
  const unique = post('/guarded', (n) => `key-${n}`)
  const same = post('/guarded', () => 'the-same-key')
  const free = post('/free', (n) => `key-${n}`)
  const variants = [
    { name: 'bare http-proxy, pass-through', at: bare, request: free, goal: 1 },
    { name: 'oncegate, pass-through', at: onRedis, request: free, goal: 0.95 },
    { name: 'oncegate, unique keys, Redis', at: onRedis, request: unique, goal: 1.2 },
    { name: 'oncegate, unique keys, LMDB', at: onLmdb, request: unique, goal: 1.1 },
    { name: 'oncegate, replays, Redis', at: onRedis, request: same, goal: 2.2 },
    { name: 'oncegate, replays, LMDB', at: onLmdb, request: same, goal: 2.5 },
  ]
  const results = variants.map(() => [] as number[])
  for (let round = -1; round < rounds; round++) {
    for (const [i, variant] of variants.entries()) {
      const { port } = new URL(variant.at.url)
      const perSecond = await load({
        port: Number(port),
        connections: variant.request === same && round < 0 ? 1 : CONNECTIONS,
        milliseconds: round < 0 ? WARM_UP_MS : milliseconds,
        request: variant.request,
      })
      // The first round warms up: compiling takes seconds where the compiler shares the gateway's one core.
      if (round >= 0) results[i]!.push(perSecond)
    }
  }
  const base = median(results[0]!)
  for (const [i, variant] of variants.entries()) {
    const rate = median(results[i]!)
    process.stdout.write(
      `${variant.name.padEnd(32)} ${rate.toFixed(0).padStart(7)}/s  ${(rate / base).toFixed(2).padStart(5)}  (goal ${variant.goal})\n`,
    )
  }
  await redis.stop()
}

try {
  await main()
} finally {
  for (const child of children) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}
