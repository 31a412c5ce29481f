// Requests to a store, as the tests write them: only what matters is named.
import { createHash, randomBytes } from 'node:crypto'
import { v7 } from 'uuid'
import { movedHome } from '../../src/model/home.ts'
import type { KeptResponse, StoredResponse } from '../../src/model/stored-response.ts'
import type { AcquireRequest, RenewRequest, SettleRequest, Store } from '../../src/stores/store.ts'

/** With `beside`: another name of the same fact, which is to be looked at together with it. */
export function newFingerprint(beside?: string): string {
  const name = randomBytes(24).toString('base64url')
  return beside === undefined ? name : movedHome(name, beside)
}

export function newGroup(): string {
  return randomBytes(15).toString('base64url')
}

/** A fact of the group. */
export function inGroup(group: string): string {
  return group + randomBytes(33).toString('base64url')
}

export function acquireOf(fingerprint: string, more: Partial<AcquireRequest> = {}): AcquireRequest {
  return {
    fingerprint,
    executionId: v7(),
    rule: 'pay',
    owner: 'owner-1',
    digest: 'digest-1',
    digestFields: 'fields-1',
    leaseMs: 30_000,
    ttlMs: 60_000,
    onFailed: 'retry',
    onUnknown: 'refuse',
    onCompleted: 'replay',
    ...more,
  }
}

export function settleOf(acquired: AcquireRequest, to: SettleRequest['to'], more: Partial<SettleRequest> = {}): SettleRequest {
  const { fingerprint, executionId, ttlMs, leaseMs } = acquired
  const request = { fingerprint, executionId, to, ttlMs, keepAtLeastMs: leaseMs, ...more }
  return to === 'completed' && !('response' in more) ? { ...request, response: responseOf('done') } : request
}

export function renewOf({ fingerprint, executionId, leaseMs, ttlMs }: AcquireRequest): RenewRequest {
  return { fingerprint, executionId, leaseMs, ttlMs }
}

export function responseOf(
  content: string | Buffer,
  headers: readonly string[] = ['content-type', 'text/plain'],
  status = 200,
): StoredResponse {
  const body = Buffer.from(content as string)
  const bodyHash = createHash('sha256').update(body).digest('hex')
  return { head: { status, headers, bodyHash, bodyBytes: body.length, bodyStored: true }, body }
}

/** The body, which a store may give by pieces. */
export async function bodyOf(store: Store, { fingerprint, executionId }: AcquireRequest, { head, body }: KeptResponse): Promise<Buffer> {
  if (body !== undefined) return body
  const pieces: Buffer[] = []
  for (let offset = 0; offset < head.bodyBytes;) {
    const reading = await store.readLog({ fingerprint, executionId, offset, maxBytes: 1_000_000 })
    if (reading.kind !== 'closed' || reading.bytes.length === 0) throw new Error(`the log is ${reading.kind} at ${offset}`)
    pieces.push(reading.bytes)
    offset += reading.bytes.length
  }
  return Buffer.concat(pieces)
}
