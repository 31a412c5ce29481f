// What a streamed answer loses on its way through the gateway: time to the first event beside a bare @fastify/http-proxy, then
// many long streams at once: how late their events come, and what memory they take.
// node build/test/bench/streams.js [store: lmdb | redis | memory] [streams] [seconds]
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { send } from '../helpers/client.ts'
import { RedisServer } from '../helpers/redis-server.ts'
import { Bench } from './processes.ts'
import { median } from './load.ts'

const kind = process.argv[2] ?? 'lmdb'
const streams = Number(process.argv[3] ?? 200)
const seconds = Number(process.argv[4] ?? 60)
const EVERY_MS = 100
/** All streams begin at once: until the code for it is compiled, that is its own story. */
const OPENING_MS = 2000
const ROUNDS = 300
const OWN_TICK_MS = 5

let last = 0
const headers = () => ({ authorization: 'Bearer bench', 'idempotency-key': `key-${Date.now()}-${++last}` })

/** Milliseconds from asking to the first event. */
async function firstEvent(url: string): Promise<number> {
  const started = performance.now()
  let first = 0
  await send(`${url}/guarded?events=1&every=1`, { headers: headers(), onData: () => (first ||= performance.now() - started) })
  return first
}

/** How late each event of one stream came, in milliseconds. Nothing is kept of it: 200 ends at once would hold up this process. */
function lateness(url: string, events: number, delays: { opening: number[]; steady: number[] }): Promise<void> {
  const steadyFrom = performance.now() + OPENING_MS
  let rest = ''
  let whole = false
  const read = (chunk: string): void => {
    const now = performance.timeOrigin + performance.now()
    const lines = (rest + chunk).split('\n')
    rest = lines.pop()!
    for (const line of lines) {
      if (line === 'data: [DONE]') whole = true
      const at = /"at":([\d.]+)/.exec(line)?.[1]
      if (at !== undefined) (performance.now() < steadyFrom ? delays.opening : delays.steady).push(now - Number(at))
    }
  }
  return new Promise((resolve, reject) => {
    const asked = http.request(`${url}/guarded?events=${events}&every=${EVERY_MS}`, { method: 'POST', headers: headers(), agent: false })
    asked.setTimeout(30_000, () => asked.destroy(new Error('a stream stood still')))
    asked.on('error', reject)
    asked.on('response', (response) => {
      response.setEncoding('latin1').on('data', read).on('error', reject)
      response.on('end', () => (whole ? resolve() : reject(new Error('a stream is not whole'))))
    })
    asked.end()
  })
}

/** The longest that this process itself was held up, in milliseconds: what is measured cannot be finer. */
function watchOwnPauses(): () => number {
  let [last, most] = [performance.now(), 0]
  const timer = setInterval(() => {
    const now = performance.now()
    most = Math.max(most, now - last - OWN_TICK_MS)
    last = now
  }, OWN_TICK_MS)
  return () => {
    clearInterval(timer)
    return most
  }
}

function residentMiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

function report(name: string, values: number[]): void {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number): string => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!.toFixed(1)
  process.stdout.write(`${name.padEnd(44)} median ${at(0.5)} ms, 99 % ${at(0.99)} ms, most ${at(1)} ms\n`)
}

async function main(bench: Bench): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'oncegate-streams-'))
  const redis = kind === 'redis' ? await RedisServer.start() : undefined
  const upstream = await bench.other('stream-upstream.js')
  const bare = await bench.bare(upstream.url)
  const gateway = await bench.gateway(upstream.url, redis?.url ?? (kind === 'lmdb' ? `lmdb:${join(folder, 'data')}` : 'memory:'))
  const direct: number[] = []
  const guarded: number[] = []
  for (let round = -50; round < ROUNDS; round++) {
    const [one, other] = [await firstEvent(bare.url), await firstEvent(gateway.url)]
    if (round >= 0) {
      direct.push(one)
      guarded.push(other)
    }
  }
  report('first event, bare http-proxy', direct)
  report(`first event, oncegate on ${kind}`, guarded)
  process.stdout.write(`${'difference of the medians'.padEnd(44)} ${(median(guarded) - median(direct)).toFixed(1)} ms\n`)
  const before = residentMiB(gateway.pid)
  const delays = { opening: [] as number[], steady: [] as number[] }
  const running = Array.from({ length: streams }, async (_, n) => {
    // Spread over one interval, as independent clients are.
    await pause((n * EVERY_MS) / streams)
    await lateness(gateway.url, (seconds * 1000) / EVERY_MS, delays)
  })
  let most = before
  const watch = setInterval(() => (most = Math.max(most, residentMiB(gateway.pid))), 250)
  await pause(OPENING_MS)
  const ownPause = watchOwnPauses()
  await Promise.all(running)
  clearInterval(watch)
  report(`${streams} streams of ${seconds} s, lateness at first`, delays.opening)
  report(`${streams} streams of ${seconds} s, lateness from then on`, delays.steady)
  process.stdout.write(`${'longest pause of the client itself, then'.padEnd(44)} ${ownPause().toFixed(1)} ms\n`)
  process.stdout.write(`${'memory of the gateway'.padEnd(44)} ${before.toFixed(0)} MiB before, ${most.toFixed(0)} MiB at most\n`)
  await redis?.stop()
  rmSync(folder, { recursive: true, force: true })
}

const bench = new Bench()
try {
  await main(bench)
} finally {
  bench.close()
}
