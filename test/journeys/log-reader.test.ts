// The log's reader stops, or goes: requests are answered all the same, and the process can end.
import t from 'tap'
import { gatewayProcess } from '../helpers/gateway-process.ts'
import { send } from '../helpers/client.ts'
import { scrape } from '../helpers/scrape.ts'
import { startUpstream } from '../helpers/upstream.ts'
import { until, within } from '../helpers/until.ts'

/** A line of this length fills a pipe in some ten requests. */
const LONG_PATH = `/${'x'.repeat(7000)}`

async function logged(t: { teardown: (end: () => Promise<unknown>) => unknown }) {
  const upstream = await startUpstream()
  const gateway = await gatewayProcess({
    upstream: upstream.url,
    store: '"memory:"',
    rules: '  - { name: r, match: { path: /r }, fingerprint: { a: body.a } }',
  })
  t.teardown(() => Promise.all([gateway.kill(), upstream.close()]))
  return { gateway, upstream }
}

t.test('nobody reads the log: every request is answered; what is lost is counted', async (t) => {
  const { gateway, upstream } = await logged(t)
  const readOn = gateway.stopReading()
  // More than is held for a slow reader.
  for (let n = 0; n < 900; n++) await within('an answer', send(gateway.url + LONG_PATH, { method: 'GET' }))
  t.equal(upstream.count(), 900)
  readOn()
  await until('the loss is told', () => gateway.log.some(({ msg }) => msg === 'log lines were lost: nobody read them'), 10_000)
  const lost = (): number => gateway.log.reduce((sum, { lines }) => sum + (typeof lines === 'number' ? lines : 0), 0)
  const lines = (): number => gateway.log.filter(({ path }) => path === LONG_PATH).length + lost()
  await until('each line is told or counted', () => lines() >= 900)
  t.equal(lines(), 900)
  t.equal((await scrape(gateway)).value('oncegate_log_lines_lost_total'), lost())
})

t.test('nobody reads the log: the process ends when it is told to', async (t) => {
  const { gateway } = await logged(t)
  gateway.stopReading()
  for (let n = 0; n < 100; n++) await send(gateway.url + LONG_PATH, { method: 'GET' })
  gateway.signal('SIGTERM')
  t.match(await within('the end', gateway.exited, 10_000), { code: 0 })
})
