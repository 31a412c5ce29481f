// What every store promises, G1 to G17 of src/stores/store.ts, as one suite that each of them runs.
import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import { v7 } from 'uuid'
import type { Store } from '../../src/stores/store.ts'
import { StoreUnavailable } from '../../src/stores/store.ts'
import { tombstones } from './tombstone-contract.ts'
import { furtherNames } from './unique-contract.ts'
import { until, within } from '../helpers/until.ts'
import { aliases } from './alias-contract.ts'
import { exclusive } from './exclusive-contract.ts'
import { lists, removals } from './list-contract.ts'
import { logs } from './log-contract.ts'
import { acquireOf, bodyOf, newFingerprint, renewOf, responseOf, settleOf } from './requests.ts'

/** Two gateways on one store; of the memory store both are the same. */
export interface Gateways {
  readonly store: Store
  readonly peer: Store
}

const LEASE_MS = 60

export async function storeContract(t: Test, open: () => Promise<Gateways>): Promise<void> {
  const { store, peer } = await open()
  await t.test('acquiring', (t) => acquiring(t, store, peer))
  await t.test('fencing', (t) => fencing(t, store, peer))
  await t.test('leases', (t) => leases(t, store, peer))
  await t.test('generations', (t) => generations(t, store, peer))
  await t.test('exclusive groups', (t) => exclusive(t, store, peer))
  await t.test('aliases', (t) => aliases(t, store, peer))
  await t.test('settling and replaying', (t) => settling(t, store, peer))
  await t.test('the log of a running answer', (t) => logs(t, store, peer))
  await t.test('expiry', (t) => expiry(t, store))
  await t.test('tombstones', (t) => tombstones(t, store, peer))
  await t.test('listing', (t) => lists(t, store, peer))
  await t.test('removing', (t) => removals(t, store, peer))
  await t.test('further names', (t) => furtherNames(t, store, peer))
  await t.test('watching', (t) => watching(t, store, peer))
  await t.test('the rest', (t) => theRest(t, store, peer))
  await t.test('G9: a closed store refuses every verb at once', async (t) => {
    await peer.close()
    if (store !== peer) await store.close()
    const request = acquireOf(newFingerprint())
    const calls: Promise<unknown>[] = [store.acquire(request), store.renew(renewOf(request)), store.settle(settleOf(request, 'failed'))]
    const more: Promise<unknown>[] = [
      store.read('f'),
      store.readResponse('f'),
      store.append({ fingerprint: 'f', executionId: 'e', offset: 0, chunk: Buffer.from('x') }),
      store.readLog({ fingerprint: 'f', executionId: 'e', offset: 0, maxBytes: 1 }),
      store.cancel({ fingerprint: 'f', executionId: 'e' }),
      store.list({ cursor: undefined, limit: 1 }),
      store.remove({ fingerprint: 'f', executionId: 'e' }),
      store.secret('s'),
      store.ping(),
      store.watch('f', () => undefined),
    ]
    for (const call of calls.concat(more)) await t.rejects(within<unknown>('a refusal', call), StoreUnavailable)
  })
}

async function acquiring(t: Test, store: Store, peer: Store): Promise<void> {
  t.test('G1: of 200 concurrent acquires one is acquired, the others are in flight', async (t) => {
    const requests = Array.from({ length: 200 }, () => acquireOf('', { executionId: v7() }))
    const fingerprint = newFingerprint()
    const claims = await Promise.all(requests.map((r, n) => (n % 2 ? store : peer).acquire({ ...r, fingerprint })))
    const winners = claims.flatMap((claim, n) => (claim.kind === 'acquired' ? [n] : []))
    t.equal(winners.length, 1)
    t.equal(claims.filter((claim) => claim.kind === 'in_flight').length, 199)
    const record = await store.read(fingerprint)
    t.equal(record?.executionId, requests[winners[0] ?? -1]?.executionId)
    t.equal(record?.attempt, 1)
  })

  t.test('G1: of 200 concurrent acquires after a failure one is acquired, attempt 2', async (t) => {
    const first = acquireOf(newFingerprint())
    await store.acquire(first)
    await store.settle(settleOf(first, 'failed'))
    const claims = await Promise.all(Array.from({ length: 200 }, (_, n) => (n % 2 ? store : peer).acquire(acquireOf(first.fingerprint))))
    t.same(
      claims.filter((claim) => claim.kind === 'acquired'),
      [{ kind: 'acquired', fingerprint: first.fingerprint, attempt: 2, after: 'failed' }],
    )
    t.equal(claims.filter((claim) => claim.kind === 'in_flight').length, 199)
  })

  t.test('G2: an acquire repeated by the same execution finds its own claim', async (t) => {
    const request = acquireOf(newFingerprint())
    const first = await store.acquire(request)
    t.same(first, { kind: 'acquired', fingerprint: request.fingerprint, attempt: 1, after: 'none' })
    t.same(await peer.acquire(request), first)
    const created = await store.read(request.fingerprint)
    t.equal(created?.duplicates, 0, 'its own echo is no duplicate')
    await store.settle(settleOf(request, 'failed'))
    const second = acquireOf(request.fingerprint)
    t.same(await store.acquire(second), { kind: 'acquired', fingerprint: request.fingerprint, attempt: 2, after: 'failed' })
    t.same(await store.acquire(second), { kind: 'acquired', fingerprint: request.fingerprint, attempt: 2, after: 'failed' })
    t.equal((await store.acquire(acquireOf(request.fingerprint))).kind, 'in_flight')
  })

  t.test('G2: a late copy of an acquire whose execution was settled is granted nothing, and takes nothing away', async (t) => {
    for (const to of ['failed', 'unknown', 'completed'] as const) {
      const request = acquireOf(newFingerprint(), { onUnknown: 'retry', onCompleted: 'execute' })
      await store.acquire(request)
      await store.settle(settleOf(request, to))
      t.equal((await peer.acquire(request)).kind, to === 'completed' ? 'completed' : 'unknown', to)
      t.match(await store.read(request.fingerprint), { status: to, attempt: 1, duplicates: 0 })
      if (to === 'completed') t.equal((await store.readResponse(request.fingerprint))?.body?.toString(), 'done')
      t.match(await store.acquire(acquireOf(request.fingerprint, { onUnknown: 'retry', onCompleted: 'execute' })), {
        kind: 'acquired',
        attempt: 2,
        after: to,
      })
    }
  })

  t.test('G4: the attempt grows by one with every execution, and the record keeps its birth', async (t) => {
    const fingerprint = newFingerprint()
    let createdAt: number | undefined
    for (let attempt = 1; attempt <= 5; attempt++) {
      const request = acquireOf(fingerprint, { onUnknown: 'retry' })
      const after = attempt === 1 ? 'none' : attempt % 2 ? 'unknown' : 'failed'
      t.same(await store.acquire(request), { kind: 'acquired', fingerprint, attempt, after })
      const record = await store.read(fingerprint)
      createdAt ??= record?.createdAt
      t.equal(record?.createdAt, createdAt)
      t.equal(record?.executionId, request.executionId)
      t.equal(await store.settle(settleOf(request, attempt % 2 ? 'failed' : 'unknown')), 'ok')
    }
  })

  t.test('G5: another digest is key_reused whatever the status, names the first fields and leaves no trace', async (t) => {
    const fingerprint = newFingerprint()
    const first = acquireOf(fingerprint, { digestFields: 'fields of the first' })
    const other = (): ReturnType<typeof acquireOf> =>
      acquireOf(fingerprint, { digest: 'digest-2', digestFields: 'fields of the second', onUnknown: 'retry' })
    await store.acquire(first)
    for (const to of ['processing', 'unknown', 'failed'] as const) {
      if (to !== 'processing') await store.settle(settleOf(first, to))
      const before = await store.read(fingerprint)
      const claim = await store.acquire(other())
      t.match(claim, { kind: 'key_reused', digestFields: 'fields of the first', record: { status: to, attempt: 1 } })
      t.same({ ...(await store.read(fingerprint)), readAt: 0, leaseLeft: 0 }, { ...before, readAt: 0, leaseLeft: 0 })
    }
    const second = acquireOf(fingerprint)
    await store.acquire(second)
    await store.settle(settleOf(second, 'completed'))
    t.match(await store.acquire(other()), { kind: 'key_reused', record: { status: 'completed' } })
  })

  t.test('an in-flight refusal says who runs it, since when and for how long the lease lives', async (t) => {
    const first = acquireOf(newFingerprint(), { rule: 'réservation', owner: '所有者', leaseMs: 20_000, ttlMs: 60_000 })
    await store.acquire(first)
    const claim = await peer.acquire(acquireOf(first.fingerprint))
    if (claim.kind !== 'in_flight') return t.fail(claim.kind)
    const { record } = claim
    t.match(record, { fingerprint: first.fingerprint, rule: 'réservation', owner: '所有者', status: 'processing', attempt: 1 })
    t.match(record, { executionId: first.executionId, duplicates: 1, response: undefined })
    t.ok(record.leaseLeft > 15_000 && record.leaseLeft <= 20_000)
    t.equal(record.createdAt, record.startedAt)
    t.equal(record.expiresAt, record.startedAt + 80_000)
    t.ok(record.readAt >= record.startedAt && record.readAt < record.startedAt + 5000)
  })

  t.test('duplicates are counted, each once', async (t) => {
    const first = acquireOf(newFingerprint())
    await store.acquire(first)
    for (let n = 0; n < 3; n++) await store.acquire(acquireOf(first.fingerprint))
    await store.settle(settleOf(first, 'completed'))
    for (let n = 0; n < 3; n++) await store.acquire(acquireOf(first.fingerprint))
    t.equal((await store.read(first.fingerprint))?.duplicates, 6)
  })
}

async function generations(t: Test, store: Store, peer: Store): Promise<void> {
  t.test('G10: a first try that meets a result begins a new generation', async (t) => {
    const first = acquireOf(newFingerprint())
    await store.acquire(first)
    await store.acquire(acquireOf(first.fingerprint))
    await store.settle(settleOf(first, 'completed', { response: responseOf('first') }))
    const before = await store.read(first.fingerprint)
    const anew = acquireOf(first.fingerprint, { onCompleted: 'execute', owner: 'owner-1' })
    const granted = { kind: 'acquired', fingerprint: first.fingerprint, attempt: 2, after: 'completed' }
    t.same(await peer.acquire(anew), granted)
    t.same(await store.acquire(anew), granted, 'G2: its own echo')
    const record = await store.read(first.fingerprint)
    t.match(record, { status: 'processing', attempt: 2, duplicates: 0, executionId: anew.executionId, response: undefined })
    t.ok(record !== undefined && before !== undefined && record.createdAt >= before.updatedAt, 'its ttl is its own')
    t.equal(await store.settle(settleOf(first, 'failed')), 'stale')
    t.equal((await store.acquire(acquireOf(first.fingerprint, { onCompleted: 'execute' }))).kind, 'in_flight')
    await store.settle(settleOf(anew, 'completed', { response: responseOf('second') }))
    const replayed = await peer.acquire(acquireOf(first.fingerprint))
    t.equal(replayed.kind === 'completed' ? replayed.response.body?.toString() : '', 'second')
  })

  t.test('G10: of 50 concurrent first tries one executes', async (t) => {
    const first = acquireOf(newFingerprint())
    await store.acquire(first)
    await store.settle(settleOf(first, 'completed'))
    const tries = Array.from({ length: 50 }, (_, n) =>
      (n % 2 ? store : peer).acquire(acquireOf(first.fingerprint, { onCompleted: 'execute' })),
    )
    const claims = await Promise.all(tries)
    t.same(
      claims.filter(({ kind }) => kind === 'acquired'),
      [{ kind: 'acquired', fingerprint: first.fingerprint, attempt: 2, after: 'completed' }],
    )
    t.equal(claims.filter(({ kind }) => kind === 'in_flight').length, 49)
  })

  t.test('G10: another digest, a failure and an unknown outcome are what they are for any other', async (t) => {
    const first = acquireOf(newFingerprint())
    const anew = () => acquireOf(first.fingerprint, { onCompleted: 'execute' })
    await store.acquire(first)
    await store.settle(settleOf(first, 'unknown'))
    t.equal((await store.acquire(anew())).kind, 'unknown')
    await store.settle(settleOf(first, 'failed'))
    const second = anew()
    t.match(await store.acquire(second), { kind: 'acquired', attempt: 2, after: 'failed' })
    await store.settle(settleOf(second, 'completed'))
    t.equal((await store.acquire({ ...anew(), digest: 'digest-2' })).kind, 'key_reused')
  })
}

async function fencing(t: Test, store: Store, peer: Store): Promise<void> {
  t.test('G3: an execution that lost its turn changes nothing and is told stale', async (t) => {
    const first = acquireOf(newFingerprint(), { leaseMs: LEASE_MS })
    await store.acquire(first)
    await lapsed(store, first.fingerprint)
    const second = acquireOf(first.fingerprint, { onUnknown: 'retry' })
    t.same(await peer.acquire(second), { kind: 'acquired', fingerprint: first.fingerprint, attempt: 2, after: 'unknown' })
    const before = await store.read(first.fingerprint)
    for (const to of ['completed', 'failed', 'unknown'] as const) t.equal(await store.settle(settleOf(first, to)), 'stale')
    t.equal(await store.renew(renewOf(first)), 'stale')
    const after = await store.read(first.fingerprint)
    t.same({ ...after, readAt: 0, leaseLeft: 0 }, { ...before, readAt: 0, leaseLeft: 0 })
    t.ok((after?.leaseLeft ?? 0) > 10_000, 'the lease of the later one still lives')
    t.equal((await store.acquire(acquireOf(first.fingerprint))).kind, 'in_flight')
    t.equal(await store.settle(settleOf(second, 'completed', { response: responseOf('second') })), 'ok')
    t.equal(await store.settle(settleOf(first, 'completed', { response: responseOf('first') })), 'stale')
    t.equal((await store.readResponse(first.fingerprint))?.body?.toString(), 'second')
  })

  t.test('G3: a settle repeated to the same end is ok and changes nothing; to another end it is stale', async (t) => {
    const request = acquireOf(newFingerprint())
    await store.acquire(request)
    t.equal(await store.settle(settleOf(request, 'completed', { response: responseOf('one') })), 'ok')
    t.equal(await store.settle(settleOf(request, 'completed', { response: responseOf('two') })), 'ok')
    t.equal(await store.settle(settleOf(request, 'failed')), 'stale')
    t.equal(await store.settle(settleOf(request, 'unknown')), 'stale')
    t.equal(await store.renew(renewOf(request)), 'stale')
    t.equal((await store.read(request.fingerprint))?.status, 'completed')
    t.equal((await store.readResponse(request.fingerprint))?.body?.toString(), 'one')
  })

  t.test('G3: a failed record takes no other end', async (t) => {
    const request = acquireOf(newFingerprint())
    await store.acquire(request)
    t.equal(await store.settle(settleOf(request, 'failed')), 'ok')
    t.equal(await store.settle(settleOf(request, 'completed')), 'stale')
    t.equal(await store.settle(settleOf(request, 'unknown')), 'stale')
    t.equal((await store.read(request.fingerprint))?.status, 'failed')
  })

  t.test('G3: nobody settles or renews what was never acquired', async (t) => {
    const request = acquireOf(newFingerprint())
    t.equal(await store.settle(settleOf(request, 'completed')), 'stale')
    t.equal(await store.renew(renewOf(request)), 'stale')
    t.equal(await store.read(request.fingerprint), undefined)
  })
}

async function leases(t: Test, store: Store, peer: Store): Promise<void> {
  t.test('G6: a lapsed lease makes the record unknown; it is refused, and cannot be renewed', async (t) => {
    const request = acquireOf(newFingerprint(), { leaseMs: LEASE_MS })
    await store.acquire(request)
    t.equal((await store.acquire(acquireOf(request.fingerprint))).kind, 'in_flight')
    await lapsed(store, request.fingerprint)
    t.match(await store.acquire(acquireOf(request.fingerprint)), {
      kind: 'unknown',
      record: { status: 'unknown', leaseLeft: 0, attempt: 1 },
    })
    t.equal(await store.renew(renewOf(request)), 'stale')
    t.equal((await store.read(request.fingerprint))?.status, 'unknown')
  })

  t.test('G6: of 100 concurrent acquires over a lapsed lease one is acquired, with a full lease', async (t) => {
    const request = acquireOf(newFingerprint(), { leaseMs: LEASE_MS })
    await store.acquire(request)
    await lapsed(store, request.fingerprint)
    const again = (n: number) => (n % 2 ? store : peer).acquire(acquireOf(request.fingerprint, { onUnknown: 'retry' }))
    const claims = await Promise.all(Array.from({ length: 100 }, (_, n) => again(n)))
    t.same(
      claims.filter((claim) => claim.kind === 'acquired'),
      [{ kind: 'acquired', fingerprint: request.fingerprint, attempt: 2, after: 'unknown' }],
    )
    t.ok(((await store.read(request.fingerprint))?.leaseLeft ?? 0) > 25_000)
  })

  t.test('G6: a lease renewed again and again outlives its length, and then the record is still its own', async (t) => {
    const request = acquireOf(newFingerprint(), { leaseMs: 200 })
    await store.acquire(request)
    const startedAt = Date.now()
    while (Date.now() < startedAt + 500) {
      t.equal(await peer.renew(renewOf(request)), 'ok')
      t.equal((await store.acquire(acquireOf(request.fingerprint, { onUnknown: 'retry' }))).kind, 'in_flight')
      await new Promise((resolve) => setTimeout(resolve, 40))
    }
    t.equal(await store.settle(settleOf(request, 'completed')), 'ok')
  })

  t.test('a late answer over a lapsed lease completes the record, or fails it', async (t) => {
    for (const to of ['completed', 'failed'] as const) {
      const request = acquireOf(newFingerprint(), { leaseMs: LEASE_MS })
      await store.acquire(request)
      await lapsed(store, request.fingerprint)
      t.equal(await store.settle(settleOf(request, to)), 'ok')
      t.equal((await store.read(request.fingerprint))?.status, to)
    }
  })

  t.test('a late answer completes a record that was settled unknown', async (t) => {
    const request = acquireOf(newFingerprint())
    await store.acquire(request)
    t.equal(await store.settle(settleOf(request, 'unknown')), 'ok')
    t.equal((await store.acquire(acquireOf(request.fingerprint))).kind, 'unknown')
    t.equal(await store.settle(settleOf(request, 'completed', { response: responseOf('late') })), 'ok')
    t.match(await store.acquire(acquireOf(request.fingerprint)), { kind: 'completed', response: { body: Buffer.from('late') } })
  })
}

async function settling(t: Test, store: Store, peer: Store): Promise<void> {
  const everyByte = Buffer.from(Array.from({ length: 256 }, (_, n) => n))
  const answers = {
    'every byte value': responseOf(everyByte, ['content-type', 'application/octet-stream']),
    'an empty body': responseOf('', [], 204),
    '1 MiB': responseOf(randomBytes(1024 ** 2)),
    'header names repeated, in their order and spelling': responseOf('x', [
      'Link',
      'a',
      'X-É',
      'ÿ "\\',
      'link',
      'b',
      'Link',
      '',
      'etag',
      'W/"1"',
    ]),
  }
  for (const [what, response] of Object.entries(answers)) {
    t.test(`a replay is exact: ${what}`, async (t) => {
      const request = acquireOf(newFingerprint())
      await store.acquire(request)
      t.equal(await store.settle(settleOf(request, 'completed', { response })), 'ok')
      const claim = await peer.acquire(acquireOf(request.fingerprint))
      if (claim.kind !== 'completed') return t.fail(claim.kind)
      t.same(claim.response.head, response.head)
      t.ok((await bodyOf(peer, request, claim.response)).equals(response.body))
      t.same(claim.record.response, response.head)
      const stored = await peer.readResponse(request.fingerprint)
      t.same(stored?.head, response.head)
      t.ok(stored !== undefined && (await bodyOf(store, request, stored)).equals(response.body))
    })
  }

  t.test('an answer too large to keep completes with its head alone', async (t) => {
    const request = acquireOf(newFingerprint())
    await store.acquire(request)
    const head = { ...responseOf('x').head, bodyBytes: 9_000_000, bodyStored: false }
    await store.settle(settleOf(request, 'completed', { response: { head, body: Buffer.alloc(0) } }))
    t.match(await store.acquire(acquireOf(request.fingerprint)), { kind: 'completed', response: { head } })
  })

  t.test('completing without an answer is a mistake of the caller', async (t) => {
    const request = acquireOf(newFingerprint())
    await store.acquire(request)
    await t.rejects(store.settle(settleOf(request, 'completed', { response: undefined })), TypeError)
    t.equal((await store.read(request.fingerprint))?.status, 'processing')
  })

  t.test('onFailed replay gives the stored failure; without an answer, or with retry, it executes again', async (t) => {
    const first = acquireOf(newFingerprint())
    await store.acquire(first)
    await store.settle(settleOf(first, 'failed', { response: responseOf('no', [], 503) }))
    const replay = await store.acquire(acquireOf(first.fingerprint, { onFailed: 'replay' }))
    t.match(replay, { kind: 'failed', record: { status: 'failed' }, response: { head: { status: 503 }, body: Buffer.from('no') } })
    const second = acquireOf(first.fingerprint)
    t.same(await store.acquire(second), { kind: 'acquired', fingerprint: first.fingerprint, attempt: 2, after: 'failed' })
    t.equal(await store.readResponse(first.fingerprint), undefined, 'the earlier answer is gone')
    t.equal((await store.read(first.fingerprint))?.response, undefined)
    await store.settle(settleOf(second, 'failed'))
    t.match(await store.acquire(acquireOf(first.fingerprint, { onFailed: 'replay' })), { kind: 'acquired', attempt: 3, after: 'failed' })
  })

  t.test('there is no answer to read while the first is being made, or where there never was a record', async (t) => {
    const request = acquireOf(newFingerprint())
    t.equal(await store.readResponse(request.fingerprint), undefined)
    await store.acquire(request)
    t.equal(await store.readResponse(request.fingerprint), undefined)
    t.equal(await store.read(newFingerprint()), undefined)
  })
}

async function expiry(t: Test, store: Store): Promise<void> {
  t.test('the ttl counts from the first request, but a result outlives its settling', async (t) => {
    const request = acquireOf(newFingerprint(), { ttlMs: 60_000, leaseMs: 1000 })
    await store.acquire(request)
    const granted = await store.read(request.fingerprint)
    t.equal(granted?.expiresAt, (granted?.createdAt ?? 0) + 61_000)
    await store.settle(settleOf(request, 'failed', { ttlMs: 60_000 }))
    const failed = await store.read(request.fingerprint)
    t.equal(failed?.expiresAt, (granted?.createdAt ?? 0) + 60_000)
    const second = acquireOf(request.fingerprint, { ttlMs: 60_000 })
    await store.acquire(second)
    await store.settle(settleOf(second, 'completed', { ttlMs: 1, keepAtLeastMs: 20_000 }))
    const completed = await store.read(request.fingerprint)
    t.equal(completed?.expiresAt, (completed?.updatedAt ?? 0) + 20_000)
  })

  t.test('an unknown outcome is remembered for a ttl from its settling', async (t) => {
    const request = acquireOf(newFingerprint())
    await store.acquire(request)
    await store.settle(settleOf(request, 'unknown', { ttlMs: 70_000, keepAtLeastMs: 1 }))
    const record = await store.read(request.fingerprint)
    t.equal(record?.expiresAt, (record?.updatedAt ?? 0) + 70_000)
  })

  t.test('a renewal moves the end of the record with the lease', async (t) => {
    const request = acquireOf(newFingerprint())
    await store.acquire(request)
    const before = await store.read(request.fingerprint)
    await store.renew({ ...renewOf(request), leaseMs: 100_000, ttlMs: 1000 })
    const after = await store.read(request.fingerprint)
    t.ok((after?.leaseLeft ?? 0) > 90_000)
    t.ok((after?.expiresAt ?? 0) >= (before?.startedAt ?? 0) + 101_000)
  })

  t.test('forever has no end', async (t) => {
    const request = acquireOf(newFingerprint(), { ttlMs: Infinity })
    await store.acquire(request)
    t.equal((await store.read(request.fingerprint))?.expiresAt, undefined)
    t.equal(await store.renew(renewOf(request)), 'ok')
    await store.settle(settleOf(request, 'completed'))
    const record = await store.read(request.fingerprint)
    t.equal(record?.status, 'completed')
    t.equal(record?.expiresAt, undefined)
  })

  t.test('an expired record is gone: it executes again as if for the first time', async (t) => {
    const first = acquireOf(newFingerprint())
    await store.acquire(first)
    await store.settle(settleOf(first, 'completed', { ttlMs: 1, keepAtLeastMs: 80, response: responseOf('old') }))
    t.equal((await store.acquire(acquireOf(first.fingerprint))).kind, 'completed')
    await until('the record is gone', async () => (await store.read(first.fingerprint)) === undefined)
    t.equal(await store.readResponse(first.fingerprint), undefined)
    t.equal(await store.settle(settleOf(first, 'completed')), 'stale')
    const second = acquireOf(first.fingerprint, { digest: 'another' })
    t.same(await store.acquire(second), { kind: 'acquired', fingerprint: first.fingerprint, attempt: 1, after: 'none' })
    t.equal(await store.readResponse(first.fingerprint), undefined, 'nothing of the old answer shows')
    await store.settle(settleOf(second, 'completed', { response: responseOf('') }))
    t.equal((await store.readResponse(first.fingerprint))?.body?.length, 0)
  })

  t.test('G7: a record is not expired while its lease lives, however short the ttl', async (t) => {
    const request = acquireOf(newFingerprint(), { ttlMs: 1, leaseMs: 400 })
    await store.acquire(request)
    await new Promise((resolve) => setTimeout(resolve, 200))
    t.equal((await store.acquire(acquireOf(request.fingerprint))).kind, 'in_flight')
    t.equal(await store.settle(settleOf(request, 'completed')), 'ok')
  })
}

async function watching(t: Test, store: Store, peer: Store): Promise<void> {
  t.test('G8: a watcher is called after a settling by any gateway, and then reads the result', async (t) => {
    for (const gateway of [store, peer]) {
      const request = acquireOf(newFingerprint())
      await store.acquire(request)
      const called = latch()
      const stop = await store.watch(request.fingerprint, called.open)
      await gateway.settle(settleOf(request, 'completed'))
      await within('the call', called.opened)
      t.equal((await store.read(request.fingerprint))?.status, 'completed')
      stop()
    }
  })

  t.test('G8: 50 watchers of one fingerprint are all called, one that stopped is not, the others are left alone', async (t) => {
    const request = acquireOf(newFingerprint())
    const other = acquireOf(newFingerprint())
    await store.acquire(request)
    await store.acquire(other)
    let stoppedCalls = 0
    let otherCalls = 0
    const stop = await store.watch(request.fingerprint, () => stoppedCalls++)
    const stopOther = await store.watch(other.fingerprint, () => otherCalls++)
    const latches = Array.from({ length: 50 }, latch)
    const stops = await Promise.all(latches.map((each) => store.watch(request.fingerprint, each.open)))
    stop()
    stop()
    await peer.settle(settleOf(request, 'completed'))
    await within('the calls', Promise.all(latches.map((each) => each.opened)))
    t.equal(stoppedCalls, 0)
    t.equal(otherCalls, 0)
    for (const each of [...stops, stopOther]) each()
  })

  t.test('a fingerprint can be watched again after everybody stopped', async (t) => {
    const request = acquireOf(newFingerprint())
    await store.acquire(request)
    const stop = await store.watch(request.fingerprint, () => undefined)
    stop()
    const called = latch()
    const stopAgain = await store.watch(request.fingerprint, called.open)
    await peer.settle(settleOf(request, 'failed'))
    await t.resolves(within('the call', called.opened))
    stopAgain()
  })
}

async function theRest(t: Test, store: Store, peer: Store): Promise<void> {
  t.test('of 20 candidates for the secret all get the same one, and it stays', async (t) => {
    const candidates = Array.from({ length: 20 }, (_, n) => `candidate ${n}`)
    const secrets = new Set(await Promise.all(candidates.map((candidate, n) => (n % 2 ? store : peer).secret(candidate))))
    t.equal(secrets.size, 1)
    const [secret] = secrets
    t.ok(candidates.includes(secret ?? ''))
    t.equal(await peer.secret('later'), secret)
  })

  t.test('it answers a ping', async (t) => {
    await t.resolves(within('the answer', store.ping()))
  })
}

/** Resolves when the lease of the record has run out, by the store's own word. */
async function lapsed(store: Store, fingerprint: string): Promise<void> {
  await until('the lease runs out', async () => (await store.read(fingerprint))?.status === 'unknown')
}

export function latch(): { open: () => void; opened: Promise<void> } {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { open: () => open(), opened }
}
