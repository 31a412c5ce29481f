// How long identifying a request takes, beside JSON.parse of the same body. Run: node build/test/bench/fingerprint.js
import { compileRule } from '../../src/fingerprint/compile-rule.ts'
import { encode } from '../../src/fingerprint/canonical.ts'
import { identify } from '../../src/fingerprint/identify.ts'
import { parseJson } from '../../src/fingerprint/json.ts'
import { keyedHash } from '../../src/fingerprint/keys.ts'
import { compileRoutes } from '../../src/fingerprint/route.ts'
import { keys, request, ruleConfig } from '../fingerprint/requests.ts'

const ROUNDS = 101

/** Median microseconds of one call; the subjects take turns, so that other load on the machine meets all of them alike. */
function medians(subjects: Readonly<Record<string, () => unknown>>, calls: number): Record<string, number> {
  const times = new Map<string, number[]>(Object.keys(subjects).map((name) => [name, []]))
  for (let round = 0; round < ROUNDS + 20; round++) {
    for (const [name, subject] of Object.entries(subjects)) {
      const started = process.hrtime.bigint()
      for (let n = 0; n < calls; n++) subject()
      const each = Number(process.hrtime.bigint() - started) / calls / 1000
      if (round >= 20) times.get(name)?.push(each)
    }
  }
  return Object.fromEntries([...times].map(([name, list]) => [name, list.toSorted((a, b) => a - b)[ROUNDS >> 1] ?? 0]))
}

const prose = 'The quick brown fox jumps over the lazy dog, and says:\n"again". '
const chat = (messages: number, repeat: number) =>
  JSON.stringify({
    model: 'some-model',
    stream: true,
    temperature: 0.7,
    user: 'u-123',
    metadata: { trace_id: '8e03978e', tags: ['a', 'b'] },
    messages: Array.from({ length: messages }, (_, n) => ({
      role: n % 2 === 0 ? 'user' : 'assistant',
      content: `${n} ${prose.repeat(repeat)}`,
    })),
  })
const records = JSON.stringify({
  items: Array.from({ length: 1000 }, (_, n) => ({
    id: n,
    sku: `SKU-${n}`,
    price: n * 1.25,
    name: `item number ${n}`,
    ok: n % 2 === 0,
    tags: ['x', 'y'],
  })),
})
const chinese = JSON.stringify({
  messages: Array.from({ length: 60 }, () => ({ role: 'user', content: '帮我预定明天下午三点的会议室，三楼小会议室。'.repeat(26) })),
})

const byKey = compileRule(ruleConfig({ owner: ['header.authorization'], fingerprint: { key: 'header.idempotency-key' } }))
const byFields = compileRule(
  ruleConfig({ owner: ['header.authorization'], fingerprint: { model: 'body.model', messages: 'body.messages' } }),
)
const headers = ['Host', 'api.test', 'Authorization', 'Bearer abc', 'Idempotency-Key', '8e03978e-40d5-43dd-bc93-6894a57f9324']
const match = { params: {}, pattern: '' }

console.log(`node ${process.version}, medians in microseconds; in brackets as a multiple of JSON.parse`)
for (const [name, body, calls] of [
  ['2 KiB chat', chat(6, 4), 100],
  ['100 KiB chat', chat(60, 25), 5],
  ['100 KiB records', records, 3],
  ['100 KiB Chinese chat', chinese, 5],
] as const) {
  const sent = request({ headers, body })
  const result = medians(
    {
      'JSON.parse': () => JSON.parse(sent.body.toString()) as unknown,
      'parse + canonical + hash': () => keyedHash(keys.id, encode(parseJson(sent.body))),
      'identify by key, digest of the body': () => identify(byKey, sent, match, keys),
      'identify by two body fields': () => identify(byFields, sent, match, keys),
    },
    calls,
  )
  console.log(`\n${name} (${sent.body.length} bytes)`)
  for (const [subject, time] of Object.entries(result)) {
    console.log(`  ${subject.padEnd(36)} ${time.toFixed(1).padStart(8)}  (${(time / (result['JSON.parse'] ?? 1)).toFixed(1)})`)
  }
}

const route = compileRoutes([compileRule(ruleConfig({ match: { methods: ['POST'], paths: ['/tasks/:taskId/sections', '/v1/pay'] } }))])
console.log('\nroute')
for (const [path, time] of Object.entries(
  medians({ '/v1/pay': () => route('POST', '/v1/pay'), '/v1/%70ay': () => route('POST', '/v1/%70ay') }, 200),
)) {
  console.log(`  ${path.padEnd(36)} ${time.toFixed(1).padStart(8)}`)
}
