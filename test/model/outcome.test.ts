import t from 'tap'
import { outcomeTable } from '../../src/model/outcome.ts'

t.test('the defaults: refusals before the work are failed, 504 is unknown, the rest of 2xx to 4xx is the result', async (t) => {
  const outcome = outcomeTable()
  t.same([200, 204, 302, 404, 422].map(outcome), Array(5).fill('completed'))
  t.same([401, 403, 408, 409, 425, 429, 500, 502, 503].map(outcome), Array(9).fill('failed'))
  t.equal(outcome(504), 'unknown')
})

t.test('a single code wins over its class, and the rule over the default', async (t) => {
  const outcome = outcomeTable({ completed: ['5xx', 409], unknown: [500] })
  t.equal(outcome(503), 'completed')
  t.equal(outcome(500), 'unknown')
  t.equal(outcome(409), 'completed')
  t.equal(outcome(504), 'unknown', 'the default code is more specific than the class')
})

t.test('a status outside every class is unknown: the gateway does not guess', async (t) => {
  t.equal(outcomeTable()(799), 'unknown')
})
