import { randomBytes } from 'node:crypto'
import t from 'tap'
import { RetryStorms, type Storm, type StormLimits, type Use } from '../../src/idempotency/retry-storms.ts'

const MINUTE = 60_000

function scene(limits: StormLimits = { uses: 3, within: 5 * MINUTE }) {
  let now = 1_000_000
  const told: Storm[] = []
  const storms = new RetryStorms(limits, (storm) => told.push(storm))
  const use = (fingerprint: string, more: Partial<Use> = {}) =>
    storms.used({ rule: 'pay', fingerprint, since: now, first: false, age: undefined, ...more })
  return { storms, told, use, pass: (ms: number) => (now += ms) }
}

const name = () => randomBytes(33).toString('base64url')

t.test('the fourth use within five minutes is a storm, whatever edges of the clock lie between', async (t) => {
  const { use, told, pass } = scene()
  const fingerprint = name()
  for (let n = 0; n < 3; n++) {
    use(fingerprint, { first: n === 0 })
    pass(1.6 * MINUTE)
  }
  t.same(told, [])
  use(fingerprint)
  t.match(told, [{ rule: 'pay', fingerprint, at: Number }])
})

t.test('uses that are further apart are none, however many', async (t) => {
  const { use, told, pass } = scene()
  const fingerprint = name()
  for (let n = 0; n < 50; n++) {
    use(fingerprint)
    pass((5 * MINUTE) / 3 + 1)
  }
  t.same(told, [])
})

t.test('a storm that goes on is told once in each window', async (t) => {
  const { use, told, pass } = scene()
  const fingerprint = name()
  for (let second = 0; second < 16 * 60; second++) {
    use(fingerprint)
    pass(1000)
  }
  t.equal(told.length, 4)
})

t.test('what others have counted before it was met here counts, where it is not too long ago', async (t) => {
  const { use, told } = scene()
  const [young, old] = [name(), name()]
  for (let n = 0; n < 3; n++) use(young, { age: 2 * MINUTE + n })
  for (let n = 0; n < 3; n++) use(old, { age: 6 * MINUTE + n })
  t.match(told, [{ fingerprint: young }])
  t.equal(told.length, 1)
})

t.test('any number of fingerprints takes no more memory, and first uses do not hide a storm', async (t) => {
  const { use, told, storms } = scene()
  const fingerprint = name()
  use(fingerprint)
  use(fingerprint)
  const before = process.memoryUsage().arrayBuffers
  for (let n = 0; n < 200_000; n++) use(name(), { first: true })
  t.ok(process.memoryUsage().arrayBuffers - before < 1_000_000)
  use(fingerprint)
  t.same(told, [])
  use(fingerprint)
  t.match(told, [{ fingerprint }], 'the others were used once each')
  t.equal(storms.recent.length, 1)
})

t.test('other limits', async (t) => {
  const one = scene({ uses: 1, within: 1000 })
  const fingerprint = name()
  one.use(fingerprint)
  one.use(fingerprint)
  t.equal(one.told.length, 1)
  const many = scene({ uses: 100, within: 1000 })
  for (let n = 0; n < 100; n++) many.use(fingerprint)
  t.equal(many.told.length, 0)
  many.use(fingerprint)
  t.equal(many.told.length, 1)
  for (let n = 0; n < 80; n++) {
    const other = name()
    for (let use = 0; use < 101; use++) many.use(other)
  }
  t.equal(many.storms.recent.length, 50, 'the latest are kept')
})
