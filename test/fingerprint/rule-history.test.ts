// Which versions of the rules count when: proved over many courses of time, with gateways that change at different times.
import t from 'tap'
import { RuleHistory } from '../../src/fingerprint/rule-history.ts'
import type { RuleSet } from '../../src/fingerprint/rule-set.ts'

const OVERLAP_MS = 60_000
const KEPT_MS = 200_000

const set = (derivation: string): RuleSet => ({
  rules: [],
  routes: () => ({ kind: 'unmatched' }),
  derivation,
  keptMs: KEPT_MS,
  longestHoldMs: 0,
})
const names = (sets: readonly RuleSet[] = []): string[] => sets.map(({ derivation }) => derivation)

class Clock {
  ms = 0
  readonly now = () => this.ms
}

t.test('alone, a version is all that counts; another shows as long as its records may live', async (t) => {
  const clock = new Clock()
  const history = new RuleHistory(set('a'), { overlapMs: OVERLAP_MS, now: clock.now })
  t.equal(history.versions(), undefined)
  history.begin(set('b'), { overlapMs: OVERLAP_MS })
  t.same(names(history.versions()?.claimable), ['a', 'b'])
  t.same(names(history.versions()?.all), ['b', 'a'])
  t.equal(history.claimedAnewInMs(), OVERLAP_MS)
  clock.ms = OVERLAP_MS
  t.same(names(history.versions()?.claimable), ['b'], 'from then on in the new name')
  t.same(names(history.versions()?.all), ['b', 'a'])
  clock.ms = 2 * OVERLAP_MS + KEPT_MS - 1
  t.same(names(history.versions()?.all), ['b', 'a'])
  clock.ms++
  t.equal(history.versions(), undefined)
})

t.test('a version that names everything alike takes the place of the other at once', async (t) => {
  const history = new RuleHistory(set('a'), { overlapMs: OVERLAP_MS })
  const next = set('a')
  history.begin(next, { overlapMs: OVERLAP_MS })
  t.equal(history.versions(), undefined)
  t.equal(history.current, next)
})

t.test('a version that the configuration names as the one before counts until it is named no more', async (t) => {
  const clock = new Clock()
  const history = new RuleHistory(set('b'), { overlapMs: OVERLAP_MS, earlier: [set('a')], now: clock.now })
  t.same(names(history.versions()?.claimable), ['a', 'b'])
  clock.ms = 100 * KEPT_MS
  t.same(names(history.versions()?.claimable), ['b'])
  t.same(names(history.versions()?.all), ['b', 'a'])
  history.begin(set('b'), { overlapMs: OVERLAP_MS })
  t.same(names(history.versions()?.all), ['b', 'a'])
  clock.ms += 2 * OVERLAP_MS + KEPT_MS
  t.equal(history.versions(), undefined)
})

t.test(
  'however gateways change within an overlap of each other: each looks for what another claims, as long as that may live',
  async (t) => {
    for (let round = 0; round < 200; round++) {
      const clock = new Clock()
      const gateways = [0, 1, 2].map(() => new RuleHistory(set('v0'), { overlapMs: OVERLAP_MS, now: clock.now }))
      const changes = plan(gateways.length)
      const claims: { version: string; at: number }[] = []
      for (clock.ms = 0; clock.ms < 1_200_000; clock.ms += 7_919) {
        while (changes[0] !== undefined && changes[0].at <= clock.ms) {
          const { gateway, version } = changes.shift()!
          gateways[gateway]!.begin(set(version), { overlapMs: OVERLAP_MS })
        }
        for (const history of gateways) {
          const versions = history.versions()
          claims.push({ version: names(versions?.claimable)[0] ?? history.current.derivation, at: clock.ms })
        }
        while (claims[0] !== undefined && claims[0].at <= clock.ms - KEPT_MS) claims.shift()
        const living = new Set(claims.map(({ version }) => version))
        for (const history of gateways) {
          const looked = new Set([history.current.derivation, ...names(history.versions()?.all)])
          const missed = [...living].filter((version) => !looked.has(version))
          if (missed.length > 0) return t.fail(`round ${round}, at ${clock.ms}: ${missed.join()} is not looked for`)
        }
      }
    }
    t.pass('no gap in 200 courses')
  },
)

/** Versions at random times, some of them soon again; each gateway takes them up within an overlap, in order. */
function plan(gateways: number): { gateway: number; version: string; at: number }[] {
  const changes: { gateway: number; version: string; at: number }[] = []
  const last = Array.from({ length: gateways }, () => 0)
  let at = 0
  for (let n = 1; at < 800_000; n++) {
    at += Math.random() < 0.5 ? Math.random() * OVERLAP_MS : Math.random() * 4 * OVERLAP_MS
    const version = `v${Math.random() < 0.3 ? Math.floor(Math.random() * n) : n}`
    for (let gateway = 0; gateway < gateways; gateway++) {
      last[gateway] = Math.max(last[gateway]!, at + Math.random() * (OVERLAP_MS - 8_000))
      changes.push({ gateway, version, at: last[gateway]! })
    }
  }
  return changes.toSorted((a, b) => a.at - b.at)
}
