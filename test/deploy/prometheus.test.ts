// The rules for Prometheus and the dashboard for Grafana ask for what the gateway really counts.
import t from 'tap'
import { latch, json } from '../helpers/upstream.ts'
import { filesBelow, readRepositoryFile, repositoryPath } from '../helpers/repository.ts'
import { promtool, PrometheusServer } from '../helpers/prometheus-server.ts'
import { scrape } from '../helpers/scrape.ts'
import { stage } from '../helpers/stage.ts'
import { until, within } from '../helpers/until.ts'

/** Empty as long as all is well. */
const ONLY_FAULTS = ['store_errors_total']

interface Panel {
  readonly title: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[]
}

const dashboard = JSON.parse(readRepositoryFile('deploy/grafana/dashboards/oncegate.json')) as { panels: Panel[] }
const rules = filesBelow('deploy/prometheus').map((file) => readRepositoryFile(`deploy/prometheus/${file}`))
const queries = dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ title, expr })))

t.test('promtool finds nothing wrong with the rules and the configuration, and they say what their tests expect', async (t) => {
  for (const args of [
    ['check', 'rules', 'deploy/prometheus/recording.yml', 'deploy/prometheus/alerts.yml'],
    ['check', 'config', '--syntax-only', 'deploy/prometheus/prometheus.yml'],
    ['test', 'rules', 'test/deploy/rules.promtool.yml'],
  ])
    t.doesNotThrow(() => promtool(args, repositoryPath('.')), args.join(' '))
})

t.test('every panel has a query and a place of its own', async (t) => {
  t.ok(dashboard.panels.length > 10)
  const taken = new Set<string>()
  for (const { title, targets, gridPos } of dashboard.panels) {
    t.ok(targets.length > 0 && targets.every(({ legendFormat }) => legendFormat !== ''), title)
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        t.notOk(taken.has(`${x},${y}`), `${title} covers nothing`)
        taken.add(`${x},${y}`)
      }
  }
})

t.test('what rules and panels name is what the gateway counts', async (t) => {
  const { gateway } = await stage(t, {})
  const { series } = await scrape(gateway)
  const counted = new Set([...series.keys()].map((name) => name.replace(/\{.*/, '')))
  const text = [...rules, ...queries.map(({ expr }) => expr)].join('\n')
  const named = new Set([...text.matchAll(/(?<![\w:])(?:oncegate|process|nodejs)_\w+(?=[{[ )])/g)].map(([name]) => name))
  t.ok(named.size > 15)
  for (const name of named) if (!/_(rer|bra|smi)$/.test(name)) t.ok(counted.has(name), name)
})

t.test('every query of the dashboard is answered, by a Prometheus that scrapes a gateway at work', async (t) => {
  const door = latch()
  const { gateway, ask, upstream } = await stage(t, {
    rules: `
  - { name: pay, match: { path: /pay }, fingerprint: { key: header.idempotency-key } }
  - { name: bold, match: { path: /bold }, fingerprint: { key: header.idempotency-key }, onUnknown: retry }
`,
    handler: async (request, response) => {
      if (request.headers['idempotency-key'] === 'held') await door.opened
      if (request.url === '/bold' && request.headers['idempotency-attempt'] === '1') response.destroy()
      else json(response, 200, {})
    },
  })
  const prometheus = await PrometheusServer.start([new URL(gateway.adminUrl).host])
  t.teardown(() => prometheus.stop())
  // Rates need a reading from before.
  await until('it was scraped', async () => (await prometheus.query('oncegate_in_flight{rule="pay"}')).length > 0, 10_000)
  const held = ask('/pay', { key: 'held', body: {} })
  await within('the execution', upstream.arrived(1))
  t.equal((await ask('/pay', { key: 'held', body: {} })).status, 425)
  for (const _ of [1, 2, 3]) t.equal((await ask('/pay', { key: 'k', body: {} })).status, 200)
  for (const status of [502, 200]) t.equal((await ask('/bold', { key: 'k', body: {} })).status, status)
  const ratio = async (name: string) => (await prometheus.query(`job:oncegate_${name}:ratio1d{job="oncegate"}`))[0]?.value ?? NaN
  await until('the repeated execution is seen', async () => (await ratio('rer')) > 0, 10_000)
  // increase() guesses at what it has not seen, alike above and below the line.
  await until('one of three', async () => Math.abs((await ratio('rer')) - 1 / 3) < 0.01, 10_000)
  t.equal(await ratio('bra'), 1)
  t.equal(await ratio('smi'), 1)
  const firing = async () => (await prometheus.query('ALERTS{alertstate="firing"}')).map(({ metric }) => metric.alertname)
  await until('the alert', async () => (await firing()).length > 0, 10_000)
  t.same(await firing(), ['OncegateRepeatedExecution'], 'and no other')

  for (const { title, expr } of queries) {
    const asked = expr.replaceAll('$job', 'oncegate').replaceAll('$rule', '.*').replaceAll('$__rate_interval', '30s')
    t.notMatch(asked, /\$/, `${title}: no other variable`)
    const samples = await prometheus.query(asked)
    if (ONLY_FAULTS.some((name) => asked.includes(name))) continue
    t.ok(samples.length > 0 && samples.every(({ value }) => Number.isFinite(value)), `${title}: ${asked}`)
  }
  // A label that nothing has would make an alert that never comes.
  const selectors = new Set([...rules.join('\n').matchAll(/(?<![\w:])oncegate_\w+(?:\{[^}]*\})?(?=[[ )])/g)].map(([selector]) => selector))
  t.ok(selectors.size > 12)
  for (const selector of selectors) t.ok((await prometheus.query(selector)).length > 0, selector)
  const inFlight = await prometheus.query('sum(oncegate_in_flight{job="oncegate"})')
  t.equal(inFlight[0]?.value, 1)
  door.open()
  t.equal((await held).status, 200)
})
