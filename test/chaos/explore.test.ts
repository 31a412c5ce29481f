// The store's protocol, explored: every interleaving of two gateways, an upstream and a store, with deaths, delays, lost and doubled
// messages. CHAOS_DEPTH goes deeper; each further step takes two to three times as long.
import t from 'tap'
import { explore } from './explore.ts'
import { dropLeaseEarly, settleWithoutToken } from './planted-faults.ts'

const DEPTH = Number(process.env.CHAOS_DEPTH ?? 9)
const BOUNDS = { starts: 3, crashes: 1, resends: 1, renewals: 1, ticks: 3 }

for (const onUnknown of ['refuse', 'retry'] as const) {
  t.test(`every way of ${DEPTH} steps, onUnknown: ${onUnknown}`, async (t) => {
    const { states, steps, broken } = await explore({ ...BOUNDS, onUnknown }, DEPTH)
    t.comment(`${states} states, ${steps} steps`)
    t.same(broken.slice(0, 3), [])
  })
}

for (const [name, plant] of Object.entries({ settleWithoutToken, dropLeaseEarly })) {
  t.test(`a fault that is planted in the store is found, with the way to it: ${name}`, async (t) => {
    const { broken } = await explore({ ...BOUNDS, onUnknown: 'retry', plant }, DEPTH)
    t.ok(broken.length > 0, JSON.stringify(broken[0]))
  })
}
