// When the breaker opens, for how long, and what its one trial makes of it.
import t, { type Test } from 'tap'
import { Breaker } from '../../src/idempotency/breaker.ts'

const CONFIG = { unknown: 3, within: 1000, open: 500 }

function breaker(config = CONFIG) {
  const states: string[] = []
  const made = new Breaker(config, (state) => states.push(state))
  const end = (now: number, trial = false) => made.leave('unknown', { trial, now })
  return { made, states, end }
}

function opened(t: Test, at: number) {
  const all = breaker()
  for (const now of [at - 2, at - 1, at]) all.end(now)
  t.same(all.made.refusal(at), { openMs: 500 })
  return all
}

t.test('it opens with as many unknown outcomes as it counts, within the time', async (t) => {
  const { made, states, end } = breaker()
  end(0)
  end(1)
  t.equal(made.refusal(2), undefined)
  end(1001)
  t.equal(made.refusal(1001), undefined, 'the first is too long ago')
  end(1002)
  t.same(made.refusal(1100), undefined, 'the second as well')
  end(1500)
  t.same(made.refusal(1600), { openMs: 400 })
  t.same(states, ['open'])

  const first = breaker({ ...CONFIG, unknown: 1 })
  first.end(7)
  t.same(first.made.refusal(7), { openMs: 500 })
})

t.test('known outcomes, and those that say nothing of the upstream, never open it', async (t) => {
  const { made } = breaker()
  for (const sign of ['known', 'unreachable', 'cancelled'] as const) {
    for (let n = 0; n < 10; n++) made.leave(sign, { trial: false, now: n })
  }
  t.equal(made.refusal(10), undefined)
})

t.test('after its time it lets one through, which decides', async (t) => {
  const { made, states, end } = opened(t, 100)
  t.same(made.refusal(599), { openMs: 1 })
  t.equal(made.refusal(600), undefined)
  t.equal(made.enter(600), true)
  t.same(made.refusal(650), { triedMs: 50 }, 'only one at a time')
  end(660)
  t.same(made.refusal(660), { triedMs: 60 }, 'whatever began before it was open counts no more')
  made.leave('known', { trial: true, now: 700 })
  t.equal(made.refusal(700), undefined)
  t.equal(made.enter(700), false, 'no trial any more')
  t.same(states, ['open', 'closed'])
  end(701)
  end(702)
  t.equal(made.refusal(703), undefined, 'the count begins anew')
})

t.test('a trial that does not end well opens it again; one that is given up leaves the next to try', async (t) => {
  for (const sign of ['unknown', 'unreachable'] as const) {
    const { made, states } = opened(t, 0)
    t.equal(made.enter(500), true)
    made.leave(sign, { trial: true, now: 600 })
    t.same(made.refusal(600), { openMs: 500 })
    t.same(states, ['open', 'open'])
  }
  const { made } = opened(t, 0)
  t.equal(made.enter(500), true)
  made.leave('cancelled', { trial: true, now: 600 })
  t.equal(made.refusal(600), undefined)
  t.equal(made.enter(600), true)
})
