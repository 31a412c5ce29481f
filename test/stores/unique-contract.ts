// G17: further names, of which each belongs to one fact. A part of the contract suite.
import type { Test } from 'tap'
import type { AcquireRequest, Claim, Store } from '../../src/stores/store.ts'
import { MOST_NAMES } from '../../src/stores/store.ts'
import { until } from '../helpers/until.ts'
import { acquireOf, newFingerprint, responseOf, settleOf } from './requests.ts'

const SHORT_MS = 60

export async function furtherNames(t: Test, store: Store, peer: Store): Promise<void> {
  /** Facts that share a home, each with these further names. */
  function scene(): { name: () => string; fact: (names: string[], more?: Partial<AcquireRequest>) => AcquireRequest } {
    const home = newFingerprint()
    const unique = (names: string[]) => ({ unique: { names, keepMs: 120_000 } })
    return {
      name: () => newFingerprint(home),
      fact: (names, more = {}) => acquireOf(newFingerprint(home), { ...unique(names), ...more }),
    }
  }
  const again = ({ fingerprint }: AcquireRequest, names: string[], more: Partial<AcquireRequest> = {}): AcquireRequest =>
    acquireOf(fingerprint, { unique: { names, keepMs: 120_000 }, ...more })
  const kind = async (claim: Promise<Claim>): Promise<string> => (await claim).kind

  t.test('G17: a name of another fact is told, by its place, and nothing is changed', async (t) => {
    const { name, fact } = scene()
    const [one, two, free] = [name(), name(), name()]
    await store.acquire(fact([one]))
    await store.acquire(fact([two]))
    const third = fact([free, two, one])
    t.same(await peer.acquire(third), { kind: 'name_used', places: [1, 2] })
    t.equal(await store.read(third.fingerprint), undefined)
    t.equal(await kind(peer.acquire(fact([free]))), 'acquired', 'what came with them was not taken')
  })

  t.test('G17: of 50 concurrent facts with one name one is acquired', async (t) => {
    const { name, fact } = scene()
    const one = name()
    const claims = await Promise.all(Array.from({ length: 50 }, (_, n) => kind((n % 2 ? store : peer).acquire(fact([one])))))
    t.equal(claims.filter((each) => each === 'acquired').length, 1)
    t.equal(claims.filter((each) => each === 'name_used').length, 49)
  })

  t.test('G17: the same fact with another name is a duplicate, and has that name, too', async (t) => {
    for (const to of ['processing', 'completed', 'unknown'] as const) {
      const { name, fact } = scene()
      const [one, two] = [name(), name()]
      const first = fact([one])
      await store.acquire(first)
      t.equal(await kind(store.acquire(first)), 'acquired', 'G2: its own echo')
      if (to !== 'processing') await store.settle(settleOf(first, to, { response: responseOf('x') }))
      t.equal(await kind(peer.acquire(again(first, [two]))), to === 'processing' ? 'in_flight' : to)
      t.equal(await kind(store.acquire(fact([two]))), 'name_used', to)
      t.equal(await kind(store.acquire(fact([one]))), 'name_used')
      t.equal(await kind(peer.acquire(again(first, [one, two]))), to === 'processing' ? 'in_flight' : to)
    }
  })

  t.test('G17: a further attempt keeps the names; a new generation begins anew', async (t) => {
    const { name, fact } = scene()
    const [one, two, three] = [name(), name(), name()]
    const first = fact([one])
    await store.acquire(first)
    await store.settle(settleOf(first, 'failed'))
    const second = again(first, [two])
    t.match(await peer.acquire(second), { kind: 'acquired', attempt: 2 })
    t.equal(await kind(store.acquire(fact([one]))), 'name_used')
    await store.settle(settleOf(second, 'completed'))
    t.match(await peer.acquire(again(first, [three], { onCompleted: 'execute' })), { kind: 'acquired', attempt: 3 })
    t.equal(await kind(store.acquire(fact([three]))), 'name_used')
    t.equal(await kind(store.acquire(fact([one]))), 'acquired')
    t.equal(await kind(store.acquire(fact([two]))), 'acquired')
  })

  t.test('G17: a mismatch adds no name', async (t) => {
    const { name, fact } = scene()
    const [one, two] = [name(), name()]
    const first = fact([one])
    await store.acquire(first)
    t.equal(await kind(peer.acquire(again(first, [two], { digest: 'other' }))), 'key_reused')
    t.equal(await kind(peer.acquire(fact([two]))), 'acquired')
    t.equal(await kind(peer.acquire(again(first, [two]))), 'name_used', 'also for a duplicate')
  })

  t.test('G17: a name lives as long as the record', async (t) => {
    const { name, fact } = scene()
    const one = name()
    const first = fact([one], { ttlMs: 1, leaseMs: SHORT_MS })
    await store.acquire(first)
    await store.settle(settleOf(first, 'completed', { keepAtLeastMs: SHORT_MS }))
    t.equal(await kind(peer.acquire(fact([one]))), 'name_used')
    await until('the record is over', async () => (await store.read(first.fingerprint)) === undefined)
    const next = fact([one])
    t.equal(await kind(peer.acquire(next)), 'acquired')
    t.equal(await kind(store.acquire(again(first, []))), 'acquired', 'in its new life the fact has no name')
    t.equal(await kind(store.acquire(again(first, [one]))), 'name_used')
    await store.settle(settleOf(next, 'completed'))
    t.equal(await kind(store.acquire(fact([one]))), 'name_used')
  })

  t.test('G17: a record has only so many names', async (t) => {
    const { name, fact } = scene()
    const names = Array.from({ length: MOST_NAMES + 1 }, name)
    const first = fact(names.slice(0, 1))
    await store.acquire(first)
    for (const each of names) t.equal(await kind(store.acquire(again(first, [each]))), 'in_flight')
    t.equal(await kind(store.acquire(fact([names[MOST_NAMES - 1]!]))), 'name_used')
    t.equal(await kind(store.acquire(fact([names[MOST_NAMES]!]))), 'acquired')
  })
}
