// G11: one fact that may be kept under several names. A part of the contract suite.
import type { Test } from 'tap'
import { newExecutionId } from '../../src/model/execution-id.ts'
import type { Claim, Store } from '../../src/stores/store.ts'
import { until, within } from '../helpers/until.ts'
import { acquireOf, newFingerprint, renewOf, responseOf, settleOf } from './requests.ts'

const LEASE_MS = 60

/** Where it was decided, in one word with what. */
function decided(claim: Claim): { kind: string; on: string } {
  if (claim.kind === 'acquired') return { kind: claim.kind, on: claim.fingerprint }
  return { kind: claim.kind, on: 'record' in claim ? claim.record.fingerprint : '' }
}

export async function aliases(t: Test, store: Store, peer: Store): Promise<void> {
  await t.test('one living record', (t) => oneRecord(t, store, peer))
  await t.test('several living records', (t) => severalRecords(t, store))
  await t.test('G11: of concurrent acquires of A (alias B) and B (alias A) one is acquired', async (t) => {
    for (let round = 0; round < 20; round++) {
      const name = newFingerprint()
      const names = [name, newFingerprint(name)] as const
      const tries = Array.from({ length: 20 }, (_, n) =>
        (n % 3 ? store : peer).acquire(acquireOf(names[n % 2 ? 0 : 1], { aliases: [names[n % 2 ? 1 : 0]] })),
      )
      const claims = (await Promise.all(tries)).map(decided)
      const granted = claims.filter(({ kind }) => kind === 'acquired')
      t.equal(granted.length, 1)
      t.ok(claims.every(({ kind, on }) => (kind === 'acquired' || kind === 'in_flight') && on === granted[0]?.on))
    }
  })
}

async function oneRecord(t: Test, store: Store, peer: Store): Promise<void> {
  t.test('G11: where nothing lives the claim is taken under its own name, and its own echo finds it there', async (t) => {
    const own = newFingerprint()
    const request = acquireOf(own, { aliases: [newFingerprint(own), newFingerprint(own)] })
    const granted = { kind: 'acquired', fingerprint: request.fingerprint, attempt: 1, after: 'none' }
    t.same(await store.acquire(request), granted)
    t.same(await peer.acquire(request), granted)
    for (const alias of request.aliases ?? []) t.equal(await store.read(alias), undefined)
  })

  t.test('G11: whatever a record under an alias comes to, it is decided on that record', async (t) => {
    const first = acquireOf(newFingerprint(), { digestFields: 'fields of the first' })
    const own = newFingerprint(first.fingerprint)
    const again = (more: Partial<ReturnType<typeof acquireOf>> = {}): ReturnType<typeof acquireOf> =>
      acquireOf(own, { aliases: [newFingerprint(own), first.fingerprint], ...more })
    const on = first.fingerprint
    await store.acquire(first)
    t.same(decided(await store.acquire(again())), { kind: 'in_flight', on })
    t.match(await store.acquire(again({ digest: 'digest-2' })), {
      kind: 'key_reused',
      digestFields: 'fields of the first',
      record: { fingerprint: on },
    })
    await store.settle(settleOf(first, 'unknown'))
    t.same(decided(await store.acquire(again())), { kind: 'unknown', on })
    t.equal((await store.read(on))?.duplicates, 2, 'counted where the record is')
    await store.settle(settleOf(first, 'failed', { response: responseOf('no', [], 500) }))
    t.same(decided(await store.acquire(again({ onFailed: 'replay' }))), { kind: 'failed', on })
    const second = again()
    const granted = { kind: 'acquired', fingerprint: on, attempt: 2, after: 'failed' }
    t.same(await store.acquire(second), granted)
    t.same(await peer.acquire(second), granted, 'G2: its own echo')
    t.equal(await store.renew(renewOf({ ...second, fingerprint: on })), 'ok')
    t.equal(await store.settle(settleOf({ ...second, fingerprint: on }, 'completed', { response: responseOf('done') })), 'ok')
    const replayed = await peer.acquire(again())
    t.equal(replayed.kind === 'completed' ? replayed.response.body?.toString() : replayed.kind, 'done')
    t.same(decided(await store.acquire(again({ onCompleted: 'execute' }))), { kind: 'acquired', on })
    t.equal(await store.read(own), undefined, 'nothing was kept under a name of its own')
  })

  t.test('G5, G11: under each name other digests may have to agree', async (t) => {
    const first = acquireOf(newFingerprint(), { digest: 'as it was computed' })
    const later = (more: Partial<ReturnType<typeof acquireOf>> = {}) =>
      acquireOf(newFingerprint(first.fingerprint), {
        aliases: [newFingerprint(first.fingerprint), first.fingerprint],
        digest: 'as it is computed',
        digests: [['as it is computed'], [''], ['another', first.digest]],
        ...more,
      })
    const on = first.fingerprint
    await store.acquire(first)
    t.same(decided(await peer.acquire(later())), { kind: 'in_flight', on })
    t.same(decided(await peer.acquire(later({ digests: [['as it is computed', first.digest], [''], ['another wish']] }))), {
      kind: 'key_reused',
      on,
    })
    t.same(decided(await peer.acquire(later({ digests: undefined }))), { kind: 'key_reused', on })
    await store.settle(settleOf(first, 'completed', { response: responseOf('done') }))
    const again = later({ onCompleted: 'execute' })
    t.same(decided(await peer.acquire(again)), { kind: 'acquired', on })
    t.same(decided(await store.acquire({ ...first, executionId: newExecutionId() })), { kind: 'in_flight', on }, 'its digest stays its own')
    const own = acquireOf(on, { digest: 'as it is computed', digests: [['as it is computed', first.digest]] })
    t.same(decided(await peer.acquire(own)), { kind: 'in_flight', on }, 'under its own name, too')
    const fresh = later({ aliases: [newFingerprint(on), newFingerprint(on)], digests: [['as it is computed', first.digest], [''], ['']] })
    t.same(decided(await store.acquire(fresh)), { kind: 'acquired', on: fresh.fingerprint })
    t.same(decided(await peer.acquire(acquireOf(fresh.fingerprint, { digest: fresh.digest }))), {
      kind: 'in_flight',
      on: fresh.fingerprint,
    })
  })

  t.test('G11: a lapsed lease under an alias is an unknown outcome', async (t) => {
    const first = acquireOf(newFingerprint(), { leaseMs: LEASE_MS })
    await store.acquire(first)
    await until('the lease is over', async () => (await store.read(first.fingerprint))?.status === 'unknown')
    const again = () => acquireOf(newFingerprint(first.fingerprint), { aliases: [first.fingerprint] })
    t.same(decided(await peer.acquire(again())), { kind: 'unknown', on: first.fingerprint })
    t.same(await peer.acquire({ ...again(), onUnknown: 'retry' }), {
      kind: 'acquired',
      fingerprint: first.fingerprint,
      attempt: 2,
      after: 'unknown',
    })
  })

  t.test('G11: a record under an alias whose time is over is none', async (t) => {
    const first = acquireOf(newFingerprint(), { ttlMs: 1, leaseMs: 20 })
    await store.acquire(first)
    await store.settle(settleOf(first, 'completed', { keepAtLeastMs: 1 }))
    await until('it has expired', async () => (await store.read(first.fingerprint)) === undefined)
    const request = acquireOf(newFingerprint(first.fingerprint), { aliases: [first.fingerprint] })
    t.same(decided(await store.acquire(request)), { kind: 'acquired', on: request.fingerprint })
  })

  t.test('G11: who waits watches the record that it was decided on', async (t) => {
    const first = acquireOf(newFingerprint())
    await store.acquire(first)
    const { on } = decided(await peer.acquire(acquireOf(newFingerprint(first.fingerprint), { aliases: [first.fingerprint] })))
    let ring = (): void => undefined
    const heard = new Promise<void>((resolve) => (ring = resolve))
    await peer.watch(on, () => ring())
    await store.settle(settleOf(first, 'completed'))
    await t.resolves(within('the settling', heard))
  })
}

async function severalRecords(t: Test, store: Store): Promise<void> {
  /** Two records, of which neither looked for the other, and a request that looks for both. */
  async function two(own: 'processing' | 'failed' | 'completed', other: 'processing' | 'failed' | 'completed') {
    const name = newFingerprint()
    const requests = [acquireOf(name), acquireOf(newFingerprint(name))] as const
    for (const [n, request] of requests.entries()) {
      await store.acquire(request)
      const to = n === 0 ? own : other
      if (to !== 'processing') await store.settle(settleOf(request, to))
    }
    const [{ fingerprint }, { fingerprint: alias }] = requests
    return { fingerprint, alias, request: acquireOf(fingerprint, { aliases: [alias] }), requests }
  }

  t.test('G11: its own name comes first', async (t) => {
    for (const [own, other] of [
      ['failed', 'failed'],
      ['completed', 'processing'],
      ['processing', 'completed'],
      ['completed', 'failed'],
    ] as const) {
      const { fingerprint, request } = await two(own, other)
      t.equal(decided(await store.acquire(request)).on, fingerprint, `${own}, ${other}`)
    }
  })

  t.test('G11: nothing is granted on one record while another has a result or holds the right', async (t) => {
    for (const [other, kind] of [
      ['completed', 'completed'],
      ['processing', 'in_flight'],
    ] as const) {
      const { alias, request } = await two('failed', other)
      t.same(decided(await store.acquire(request)), { kind, on: alias })
    }
    const { alias, request } = await two('completed', 'processing')
    t.same(decided(await store.acquire({ ...request, onCompleted: 'execute' })), { kind: 'in_flight', on: alias })
  })

  t.test('G2: its own claim is found whatever the other names hold', async (t) => {
    const { fingerprint, requests, alias } = await two('completed', 'processing')
    const echo = { ...requests[1], fingerprint, aliases: [alias] }
    t.same(await store.acquire(echo), { kind: 'acquired', fingerprint: alias, attempt: 1, after: 'none' })
  })
}
