// A window's names: whatever the edge, two times that are close share one, and no rule without a window has any.
import fc from 'fast-check'
import t from 'tap'
import { differingFields } from '../../src/fingerprint/digest-fields.ts'
import type { Operation } from '../../src/model/operation.ts'
import { fingerprint, operation, refusal } from './requests.ts'

const MINUTE = 60_000
const EDGE = Date.UTC(2024, 4, 20, 4)

const at = (from: string, window: number) => ({ from, optional: false, apply: [{ window }] })
const clicked = (window = MINUTE) => ({ fingerprint: { at: at('body.at', window), v: 'body.v' } })
const click = (time: number, window = MINUTE, v = 1): Operation => operation(clicked(window), { body: JSON.stringify({ at: time, v }) })
const names = ({ fingerprint: own, aliases }: Operation): string[] => [own, ...(aliases ?? [])]
const looksFor = (a: Operation, b: Operation): boolean => names(a).includes(b.fingerprint)
const share = (a: Operation, b: Operation): boolean => looksFor(a, b) && looksFor(b, a)

t.test("two times less than half a window apart look under each other's name", async () => {
  const window = fc.integer({ min: 1000, max: 7_200_000 })
  const time = fc.integer({ min: Date.UTC(1980, 0), max: Date.UTC(2090, 0) })
  fc.assert(
    fc.property(window, time, fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (length, first, nearness) => {
      // The first comes right before an edge half of the time: there it is decided.
      const start = first % 2 === 0 ? first : Math.ceil(first / length) * length - 1 - Math.floor((nearness * length) / 4)
      const second = start + Math.floor((nearness * (length - 1)) / 2)
      return share(click(start, length), click(second, length))
    }),
    { numRuns: 500 },
  )
})

t.test('times in one window share a record, and what is a whole window apart is looked for by neither', async (t) => {
  t.ok(share(click(EDGE), click(EDGE + MINUTE - 1)))
  t.ok(share(click(EDGE), click(EDGE - MINUTE / 2)))
  for (const [one, other] of [
    [EDGE, EDGE + MINUTE],
    [EDGE + 1, EDGE - MINUTE - 1],
    [EDGE, EDGE + 1.5 * MINUTE - 1],
  ] as const) {
    t.notOk(looksFor(click(one), click(other)))
    t.notOk(looksFor(click(other), click(one)))
  }
  t.notOk(share(click(EDGE - 1, MINUTE, 1), click(EDGE, MINUTE, 2)), 'another fact')
})

t.test('of two times either both look for the other or neither does', async () => {
  const distance = fc.integer({ min: -200_000, max: 200_000 })
  fc.assert(
    fc.property(fc.integer({ min: 1000, max: 90_000 }), fc.integer({ min: 0, max: 200_000 }), distance, (length, first, apart) => {
      const [one, other] = [click(EDGE + first, length), click(EDGE + first + apart, length)]
      return looksFor(one, other) === looksFor(other, one) && (Math.abs(apart) < length || !looksFor(one, other))
    }),
    { numRuns: 500 },
  )
})

t.test('two parts with a window: the combinations', async (t) => {
  const both = { fingerprint: { from: at('body.from', MINUTE), to: at('body.to', MINUTE) } }
  const of = (from: number, to: number) => operation(both, { body: JSON.stringify({ from, to }) })
  const first = of(EDGE - 5, EDGE + 5 * MINUTE + 5)
  t.equal(new Set(names(first)).size, 9)
  for (const from of [EDGE - 5, EDGE + 5]) {
    for (const to of [5, -5]) t.ok(share(first, of(from, EDGE + 5 * MINUTE + to)))
  }
})

t.test('without a time of a window there is one name', async (t) => {
  t.equal(operation({}, { body: '{"v":1}' }).aliases, undefined)
  const optional = { fingerprint: { at: { ...at('body.at', MINUTE), optional: true }, v: 'body.v' } }
  t.equal(operation(optional, { body: '{"v":1}' }).aliases, undefined)
  t.equal(names(operation(optional, { body: `{"v":1,"at":${EDGE}}` })).length, 3)
})

t.test('steps after the window see either of its numbers', async (t) => {
  const apply = [{ window: MINUTE }, 'string' as const, 'sha256' as const]
  const rule = { fingerprint: { at: { from: 'body.at', optional: false, apply } } }
  const of = (time: number) => operation(rule, { body: JSON.stringify({ at: time }) })
  t.ok(share(of(EDGE - 5), of(EDGE + 5)))
})

t.test('one part holds one time', async (t) => {
  const rule = { fingerprint: { at: at('body.at[*]', MINUTE) } }
  t.equal(refusal(rule, { body: `{"at":[${EDGE},${EDGE}]}` }), 'field-invalid')
  t.ok(fingerprint(rule, { body: `{"at":[${EDGE}]}` }))
})

t.test('a mismatch names its fields across the edge too', async (t) => {
  const rule = { ...clicked(), digest: ['body'], digestIgnore: ['body.at'] }
  const of = (time: number, note: string) => operation(rule, { body: JSON.stringify({ at: time, v: 1, note, same: 'same' }) })
  const [before, after] = [of(EDGE - 5, 'a'), of(EDGE + 5, 'b')]
  t.not(before.digest, after.digest)
  t.same(differingFields(before.digestFields, after.digestFields), ['/note'])
  t.equal(before.digest, of(EDGE + 5, 'a').digest)
})
