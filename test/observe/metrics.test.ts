// What the measures of many rules cost whoever asks for them, and the requests that are served meanwhile.
import t from 'tap'
import { GatewayMetrics } from '../../src/observe/metrics.ts'

const RULES = Array.from({ length: 50 }, (_, n) => ({
  name: `rule-${n}`,
  shadow: false,
  timeoutMs: 600_000,
  parts: [{ part: 'device', sources: ['header.x-device', 'cookie.device', 'default'] }],
}))

t.test('the measures of 50 rules are written out in less than 20 ms of the processor', async (t) => {
  const metrics = new GatewayMetrics(RULES)
  const cpuMs: number[] = []
  let text = ''
  for (let n = 0; n < 30; n++) {
    const before = process.cpuUsage()
    text = await metrics.text()
    const { user, system } = process.cpuUsage(before)
    cpuMs.push((user + system) / 1000)
  }
  // The first ones are compiled; the best tells what it costs, whatever else the machine does.
  const best = Math.min(...cpuMs)
  t.ok(best < 20, `${best} ms`)
  t.ok(text.includes('oncegate_requests_total{rule="rule-49",outcome="executed"} 0'))
  t.comment(
    `${text.split('\n').length} lines, ${best.toFixed(1)} ms at best, ${cpuMs.toSorted((a, b) => a - b)[15]!.toFixed(1)} ms in the middle`,
  )
})
