// What a rule would have done with a request that passes without it: decided on records of its own, which no enforced request meets.
import type { RuleConfig } from '../config/gateway-config.ts'
import { newExecutionId } from '../model/execution-id.ts'
import type { ShadowOutcome } from '../model/metrics.ts'
import type { Operation } from '../model/operation.ts'
import type { OutcomeTable } from '../model/outcome.ts'
import type { SettledStatus } from '../model/record.ts'
import type { StoredResponse } from '../model/stored-response.ts'
import { type Claim, type Store, StoreUnavailable } from '../stores/store.ts'
import { keepLease } from './keep-lease.ts'

/** How the request that passed has ended. */
export interface PassEnd {
  /** Undefined: no answer came. */
  readonly status: number | undefined
  /** Whether the answer came whole. */
  readonly whole: boolean
  /** Whether a byte of the request left. */
  readonly sent: boolean
  /** The client has left, and the request was given up with it. */
  readonly clientGone: boolean
}

export interface Shadowed {
  readonly rule: RuleConfig
  readonly outcome: OutcomeTable
  /** Under the names of the shadow. */
  readonly operation: Operation
  readonly ended: Promise<PassEnd>
}

/** Resolves as soon as it is decided; the record is settled when the request has ended. Never rejects. */
export async function decideInShadow(store: Store, shadowed: Shadowed): Promise<ShadowOutcome> {
  const { rule, operation } = shadowed
  const executionId = newExecutionId()
  try {
    const claim = await store.acquire({
      fingerprint: operation.fingerprint,
      aliases: operation.aliases,
      executionId,
      rule: rule.name,
      owner: operation.owner,
      digest: operation.digest,
      digestFields: operation.digestFields,
      leaseMs: rule.lease,
      ttlMs: rule.ttl,
      onFailed: rule.onFailed,
      onUnknown: rule.onUnknown === 'retry' ? 'retry' : 'refuse',
      tombstone: rule.tombstone !== undefined,
      onCompleted: operation.firstTry ? 'execute' : 'replay',
    })
    if (claim.kind === 'acquired') void settleWhenEnded(store, shadowed, { fingerprint: claim.fingerprint, executionId })
    return outcomeOf(claim, rule)
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    return rule.onStoreError === 'pass' ? 'unguarded' : 'store-unavailable'
  }
}

function outcomeOf(claim: Claim, rule: RuleConfig): ShadowOutcome {
  switch (claim.kind) {
    case 'acquired':
      return 'executed'
    case 'completed':
    case 'failed':
      return 'replayed'
    case 'in_flight':
      return rule.inFlight.answer === 'attach' ? 'attached' : rule.inFlight.answer === 'wait' ? 'waited' : 'in-flight'
    case 'unknown':
      return 'outcome-unknown'
    case 'expired':
      return 'expired'
    case 'busy':
      return 'resource-busy'
    case 'pending':
      return 'waited'
    case 'name_used':
    case 'key_reused':
      return 'key-reused'
  }
}

async function settleWhenEnded(
  store: Store,
  { rule, outcome, ended }: Shadowed,
  name: { readonly fingerprint: string; readonly executionId: string },
): Promise<void> {
  const release = keepLease(store, { ...name, leaseMs: rule.lease, ttlMs: rule.ttl }, { onLost: nothing, onCancelled: nothing })
  try {
    const end = await ended
    const to = settledAs(end, rule, outcome)
    const response = end.status === undefined && to !== 'completed' ? undefined : headOnly(end.status ?? 200)
    await store.settle({
      ...name,
      to,
      ttlMs: rule.ttl,
      tombstoneMs: rule.tombstone,
      keepAtLeastMs: rule.lease,
      ...(response && { response }),
    })
  } catch (error) {
    // Left alone it lapses: the shadow then knows as little of it as the gateway would.
    if (!(error instanceof StoreUnavailable)) throw error
  } finally {
    release()
  }
}

function settledAs({ status, whole, sent, clientGone }: PassEnd, rule: RuleConfig, outcome: OutcomeTable): SettledStatus {
  // The rule would not have given it up.
  if (clientGone && rule.onDisconnect === 'continue') return status === undefined ? 'completed' : outcome(status)
  if (whole && status !== undefined) return outcome(status)
  return sent ? 'unknown' : 'failed'
}

/** The answer itself went to its client, and nobody will be given it again. */
function headOnly(status: number): StoredResponse {
  return { head: { status, headers: [], bodyHash: '', bodyBytes: 0, bodyStored: false }, body: Buffer.alloc(0) }
}

function nothing(): void {}
