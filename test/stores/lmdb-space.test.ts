// The embedded store within its limit: what is over makes room, what runs has room, and beyond that nothing is begun.
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openStore } from '../../src/stores/open-store.ts'
import { type AcquireRequest, type Store, StoreFull } from '../../src/stores/store.ts'
import { until } from '../helpers/until.ts'
import { acquireOf, bodyOf, newFingerprint, renewOf, responseOf, settleOf } from './requests.ts'

const MIB = 1024 ** 2
const HEAD = { status: 200, headers: ['content-type', 'text/plain'] }

async function limited(t: Test, maxMib: number): Promise<{ store: Store; fileBytes: () => number; warnings: string[] }> {
  const directory = mkdtempSync(join(tmpdir(), 'oncegate-lmdb.'))
  const warnings: string[] = []
  const store = await openStore(`lmdb:${directory}?maxSize=${maxMib}MiB`, { timeoutMs: 5000, warn: (message) => warnings.push(message) })
  t.teardown(async () => {
    await store.close()
    rmSync(directory, { recursive: true, force: true })
  })
  return { store, fileBytes: () => statSync(join(directory, 'data.mdb')).size, warnings }
}

/** Undefined: the store is full. */
async function granted(store: Store, more: Partial<AcquireRequest>): Promise<AcquireRequest | undefined> {
  const request = acquireOf(newFingerprint(), more)
  try {
    const claim = await store.acquire(request)
    if (claim.kind !== 'acquired') throw new Error(claim.kind)
    return request
  } catch (error) {
    if (error instanceof StoreFull) return undefined
    throw error
  }
}

t.test(
  'large results with a short ttl, fifteen times as much as the limit: the file stays within it, nothing acknowledged is lost',
  async (t) => {
    const limit = 16
    const { store, fileBytes } = await limited(t, limit)
    const short = { leaseMs: 300, ttlMs: 300 }
    let [written, refused, kept, largest, wrong, mixed] = [0, 0, 0, 0, 0, 0]
    const endsAt = Date.now() + 60_000
    const lane = async (): Promise<void> => {
      while (written < 15 * limit * MIB && Date.now() < endsAt) {
        const began = Date.now()
        const request = await granted(store, short)
        if (request === undefined) {
          refused++
          await new Promise((resolve) => setTimeout(resolve, 20))
          continue
        }
        const response = responseOf(Buffer.alloc(5000 + ((written * 7919) % 400_000), request.fingerprint))
        const logged = Math.floor(response.body.length / 2)
        if (written % 3 === 0) await store.append({ ...request, offset: 0, chunk: response.body.subarray(0, logged), head: HEAD })
        const inLog = written % 3 === 0 ? { logged, response: { ...response, body: response.body.subarray(logged) } } : { response }
        written += response.body.length
        // On a machine that has no time its record may have expired before it was settled.
        if ((await store.settle(settleOf(request, 'completed', inLog))) !== 'ok' && Date.now() - began < short.leaseMs) wrong++
        const found = await store.readResponse(request.fingerprint)
        // Its ttl may be over by now.
        if (found?.head.bodyStored === true) {
          const body = await bodyOf(store, request, found).catch(() => undefined)
          if (body === undefined) continue
          kept++
          if (!body.equals(response.body)) mixed++
        }
        largest = Math.max(largest, fileBytes())
      }
    }
    await Promise.all([1, 2, 3, 4].map(lane))
    t.comment(
      `${(written / MIB).toFixed(0)} MiB written, ${kept} results read back, ${refused} refusals; the file had ${(largest / MIB).toFixed(1)} MiB at most`,
    )
    t.ok(written >= 15 * limit * MIB, 'it went on')
    t.equal(wrong, 0, 'every settling was taken')
    t.equal(mixed, 0, 'every body is its own')
    t.ok(kept > 100)
    t.ok(refused > 0, 'it came to its limit')
    t.ok(largest <= limit * MIB, `${largest} bytes`)
  },
)

t.test(
  'at the limit nothing new is granted; what runs is renewed, stored whole and replayed; and it goes on when results expire',
  async (t) => {
    const { store, fileBytes, warnings } = await limited(t, 8)
    const running = await Promise.all([1, 2, 3, 4].map(() => granted(store, {})))
    let filled = 0
    const fill = async (): Promise<boolean> => {
      const request = await granted(store, { leaseMs: 1500, ttlMs: 1500 })
      if (request === undefined) return false
      await store.settle(settleOf(request, 'completed', { response: responseOf(Buffer.alloc(100_000, 'x')) }))
      filled++
      return true
    }
    while (await fill());
    t.ok(filled > 40, `${filled} results of 100 kB`)
    t.match(warnings, [/the embedded store is full: .* of 8\.0 MiB \(maxSize\) in use.*new requests get 503.*shorter ttl/])
    for (const request of running) {
      if (request === undefined) return t.fail('not granted')
      const response = responseOf(Buffer.alloc(200_000, request.fingerprint))
      t.equal(await store.renew(renewOf(request)), 'ok')
      t.equal(await store.settle(settleOf(request, 'completed', { response })), 'ok')
      const claim = await store.acquire(acquireOf(request.fingerprint))
      if (claim.kind !== 'completed') return t.fail(claim.kind)
      t.ok((await bodyOf(store, request, claim.response)).equals(response.body), 'replayed')
    }
    t.equal(await granted(store, {}), undefined, 'still full')
    await until('room again', fill, 10_000)
    t.ok(fileBytes() <= 8 * MIB)
    for (const request of running)
      t.equal((await store.read(request!.fingerprint))?.status, 'completed', 'what has not expired is still there')
  },
)

t.test('more runs than there is room for: each is completed, at worst without its body, and nothing is in flight for ever', async (t) => {
  const { store, fileBytes, warnings } = await limited(t, 4)
  const running = await Promise.all(Array.from({ length: 60 }, () => granted(store, {})))
  const settled = await Promise.all(
    running.map(async (request, n) => {
      if (request === undefined) throw new Error('not granted')
      const body = Buffer.alloc(150_000, request.fingerprint)
      const response = responseOf(body)
      if (n % 2 === 0) return store.settle(settleOf(request, 'completed', { response }))
      // As a stream, whose log may be refused in the middle.
      let logged = 0
      while (logged < 100_000) {
        const chunk = body.subarray(logged, logged + 50_000)
        if ((await store.append({ ...request, offset: logged, chunk, head: HEAD })) === 'stale') break
        logged += chunk.length
      }
      const kept = logged === 100_000
      const head = { ...response.head, bodyStored: kept }
      return store.settle(
        settleOf(request, 'completed', {
          logged: kept ? logged : 0,
          response: { head, body: kept ? body.subarray(logged) : Buffer.alloc(0) },
        }),
      )
    }),
  )
  t.same([...new Set(settled)], ['ok'])
  const claims = await Promise.all(running.map((request) => store.acquire(acquireOf(request!.fingerprint))))
  t.same([...new Set(claims.map(({ kind }) => kind))], ['completed'], 'none executes again')
  const bodies = claims.filter((claim) => claim.kind === 'completed' && claim.response.head.bodyStored).length
  t.ok(bodies >= 10 && bodies < 60, `${bodies} with their bodies`)
  t.ok(warnings.some((message) => /without their bodies/.test(message)))
  t.ok(fileBytes() <= 4 * MIB, `${fileBytes()} bytes`)
})

t.test('whatever is kept counts as used: records, names, groups and what tells of their end', async (t) => {
  const { openEnvironment } = await import('../../src/stores/lmdb/environment.ts')
  const directory = mkdtempSync(join(tmpdir(), 'oncegate-lmdb.'))
  const environment = openEnvironment(directory)
  t.teardown(async () => {
    await environment.close()
    rmSync(directory, { recursive: true, force: true })
  })
  const text = 'x'.repeat(100)
  const writes: Record<string, (n: number) => Promise<boolean>> = {
    bodies: (n) => environment.bodies.put(`${n}`, Buffer.from(text)),
    pieces: (n) => environment.pieces.put([text, n], Buffer.from(text)),
    expiry: (n) => environment.expiry.put([n, text], null),
    names: (n) => environment.names.put(`${n}`, text),
    groups: (n) => environment.groups.put(`${text}${n}`, {} as never),
  }
  for (const [kind, write] of Object.entries(writes)) {
    const before = environment.size().usedBytes
    await environment.transaction(() => {
      for (let n = 0; n < 1000; n++) void write(n)
    })
    environment.refresh()
    t.ok(environment.size().usedBytes - before >= 100_000, kind)
  }
})
