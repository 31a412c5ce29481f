import t from 'tap'
import { Durations } from '../../src/idempotency/durations.ts'

t.test('what is left is the usual time less what has passed', async (t) => {
  const durations = new Durations()
  for (const ms of [9000, 10_000, 60_000]) durations.add('a', ms)
  t.equal(durations.left('a', 4000), 6000, 'one slow execution does not count')
})

t.test('an execution over its usual time is asked for less and less often', async (t) => {
  const durations = new Durations()
  durations.add('a', 1000)
  t.equal(durations.left('a', 4000), 2000)
  t.equal(durations.left('a', 8000), 4000)
})

t.test('without experience it is a second, then half of what has passed; never over a minute', async (t) => {
  const durations = new Durations()
  t.equal(durations.left('a', 0), 1000)
  t.equal(durations.left('a', 10_000), 5000)
  t.equal(durations.left('a', 10 * 60_000), 59_000)
})
