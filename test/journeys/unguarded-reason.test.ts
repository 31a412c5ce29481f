import t from 'tap'
import { stage } from '../helpers/stage.ts'
import { until } from '../helpers/until.ts'

const RULES = `
  - name: section
    match: { path: /sections }
    fingerprint: { object: body.section }
`

t.test('the log says why a request that fits a rule passed unguarded', async (t) => {
  const { gateway, upstream, ask } = await stage(t, { rules: RULES })
  await ask('/sections', { as: null, body: { section: 'intro' } })
  await ask('/sections', { as: null, body: { section: 'intro' } })
  t.equal(upstream.count(), 2)
  await until('two lines', () => gateway.log.filter(({ msg }) => msg === 'request').length === 2)
  const [line] = gateway.log.filter(({ msg }) => msg === 'request')
  t.match(line, { outcome: 'passed', reason: 'no-owner', rule: 'section' })
})
