// The checker finds what it is there for: each fault that is planted in a store is caught, and a right store is not blamed.
import t from 'tap'
import { check } from './checker.ts'
import { memoryStore } from './memory-scene.ts'
import {
  compareNoDigest,
  dropLeaseEarly,
  forgetSettled,
  getThenSet,
  loseAPiece,
  type Plant,
  renewLostLease,
  settleWithoutToken,
} from './planted-faults.ts'
import { runChaos } from './run.ts'

interface Planting {
  readonly plant?: Plant
  /** One of these at least. */
  readonly caughtBy: readonly string[]
  readonly faults?: number
  readonly slow?: number
  readonly holdMs?: readonly [from: number, to: number]
}

const PLANTS: Readonly<Record<string, Planting>> = {
  nothing: { caughtBy: [] },
  settleWithoutToken: { plant: settleWithoutToken, caughtBy: ['two-results', 'another-result'] },
  renewLostLease: {
    plant: renewLostLease,
    caughtBy: ['step-not-drawn', 'in-flight-after-unknown'],
    faults: 12,
    slow: 1000,
    holdMs: [1700, 1800],
  },
  getThenSet: { plant: getThenSet, caughtBy: ['executed-again', 'attempt-repeated'], faults: 0 },
  dropLeaseEarly: { plant: dropLeaseEarly, caughtBy: ['executed-again', 'unknown-without-cause'], faults: 0 },
  forgetSettled: { plant: forgetSettled, caughtBy: ['result-forgotten'], faults: 0 },
  loseAPiece: { plant: loseAPiece, caughtBy: ['not-the-upstreams-answer'], faults: 0 },
  compareNoDigest: { plant: compareNoDigest, caughtBy: ['anothers-payload', 'two-payloads'], faults: 0 },
}

/** Whether two things meet that must meet is a matter of moments: what one seed misses another finds. */
const SEEDS = [7, 9, 11]

// All in this process: more at once, and it has no time for any.
t.jobs = 4
for (const [name, { plant, caughtBy, faults = 6, slow = 100, holdMs }] of Object.entries(PLANTS)) {
  const run = async (seed: number) => {
    const options = { store: name, seed, gateways: 3, requests: 150, faults, loadMs: 4000, bias: { slow, conflicts: 0.3, statuses: 40 } }
    return check(await runChaos(options, memoryStore(plant, holdMs)))
  }
  t.test(name, async (t) => {
    if (plant === undefined) return t.same(await run(SEEDS[0]!), [])
    const found = new Set<string>()
    for (const seed of SEEDS) {
      for (const violation of await run(seed)) found.add(violation.check)
      if (caughtBy.some((one) => found.has(one))) break
    }
    t.ok(
      caughtBy.some((one) => found.has(one)),
      `found: ${[...found].join(', ')}`,
    )
  })
}
