// The heart: who may execute, and what everybody else gets.
import { newExecutionId } from '../model/execution-id.ts'
import type { OutcomeTable } from '../model/outcome.ts'
import type { RecordView } from '../model/record.ts'
import type { StoredResponse } from '../model/stored-response.ts'
import { type AcquireRequest, type Claim, StoreUnavailable } from '../stores/store.ts'
import type { Answer, ClientStream } from './answer.ts'
import { execute } from './execute.ts'
import type { Gate, GuardedRequest } from './gate.ts'
import { persist, takeBackClaim } from './persist.ts'
import { refuseInFlight, refuseReuse, refuseUnknown, refuseUnstored, storeUnavailable } from './refuse.ts'
import { waitForTurn } from './wait.ts'

export interface Handled {
  readonly answer: Answer
  /** Of the record that decided; the request's own where the store did not say. */
  readonly fingerprint: string
}

export async function handleRequest(gate: Gate, request: GuardedRequest, outcome: OutcomeTable, client: ClientStream): Promise<Handled> {
  const executionId = newExecutionId()
  const holdMs = holdTime(request)
  try {
    const acquire = (onCompleted: AcquireRequest['onCompleted']) =>
      persist(() => gate.store.acquire({ ...acquireRequest(request, executionId), onCompleted }), gate.storeTimeout)
    let claim = await acquire(request.operation.firstTry ? 'execute' : 'replay')
    const held = claim.kind === 'in_flight' && holdMs > 0
    if (claim.kind === 'in_flight' && held) {
      // What was in flight when the request came is its answer, first try or not.
      claim = await hold(gate, claim, { client, limitMs: holdMs, acquire: () => acquire('replay') })
    }
    const answer = await answerTo(gate, request, claim, { executionId, outcome, client })
    const fingerprint = claim.kind === 'acquired' ? claim.fingerprint : claim.record.fingerprint
    return { answer: held && request.preferWait !== undefined ? withPreference(answer, holdMs) : answer, fingerprint }
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    return { answer: answerWithoutStore(gate, request, executionId), fingerprint: request.operation.fingerprint }
  }
}

/** Waits for a turn, but not at a gateway whose time is over: it could not finish what it began. */
function hold(
  gate: Gate,
  claim: Extract<Claim, { kind: 'in_flight' }>,
  { client, limitMs, acquire }: { client: ClientStream; limitMs: number; acquire: () => Promise<Claim> },
): Promise<Claim> {
  let over = false
  let wakeUp = nothing
  const onGone = (wake: () => void): void => {
    client.onGone(wake)
    wakeUp = wake
  }
  const turn = waitForTurn(gate.store, claim, { limitMs, gone: () => over || client.gone, onGone }, acquire)
  const giveUp = (): void => {
    over = true
    wakeUp()
  }
  gate.live.add({ giveUp, settled: turn.then(nothing, nothing) })
  return turn
}

interface Turn {
  readonly executionId: string
  readonly outcome: OutcomeTable
  readonly client: ClientStream
}

async function answerTo(gate: Gate, request: GuardedRequest, claim: Claim, turn: Turn): Promise<Answer> {
  switch (claim.kind) {
    case 'acquired':
      return execute(gate, request, { ...claim, executionId: turn.executionId }, turn.outcome, turn.client)
    case 'in_flight':
      return refuseInFlight(gate, request, claim.record)
    case 'completed':
    case 'failed':
      return claim.response.head.bodyStored ? replay(claim.response, claim.record) : refuseUnstored(claim.record, claim.response)
    case 'unknown':
      return refuseUnknown(claim.record)
    case 'key_reused':
      return refuseReuse(request, claim)
  }
}

/** `Age` (RFC 9111 5.1): whole seconds since the answer was made, by the store's clock alone. */
export function replay(response: StoredResponse, record: RecordView): Answer {
  const age = Math.max(0, Math.floor((record.readAt - record.updatedAt) / 1000))
  return {
    kind: 'replay',
    response,
    headers: ['Idempotency-Fingerprint', record.fingerprint, 'Idempotency-Replayed', 'true', 'Age', String(age)],
  }
}

function acquireRequest({ rule, operation }: GuardedRequest, executionId: string) {
  return {
    fingerprint: operation.fingerprint,
    ...(operation.aliases === undefined ? {} : { aliases: operation.aliases }),
    executionId,
    rule: rule.name,
    owner: operation.owner,
    digest: operation.digest,
    digestFields: operation.digestFields,
    leaseMs: rule.lease,
    ttlMs: rule.ttl,
    onFailed: rule.onFailed,
    onUnknown: rule.onUnknown,
  }
}

/** Milliseconds a duplicate in flight is held: what the rule says, or what the client prefers up to the rule's limit. */
function holdTime({ rule, preferWait }: GuardedRequest): number {
  if (preferWait !== undefined) return Math.min(preferWait * 1000, rule.inFlight.maxWait)
  return rule.inFlight.answer === 'wait' ? rule.inFlight.maxWait : 0
}

/** RFC 7240 section 3: the client learns that its preference was honoured. */
function withPreference(answer: Answer, holdMs: number): Answer {
  if (answer.kind !== 'problem' && answer.kind !== 'replay') return answer
  return { ...answer, headers: [...(answer.headers ?? []), 'Preference-Applied', `wait=${Math.floor(holdMs / 1000)}`] }
}

/** The claim may have been applied all the same, under any of the names: it is taken back, so that it cannot lapse into an unknown outcome. */
function answerWithoutStore(gate: Gate, { rule, operation }: GuardedRequest, executionId: string): Answer {
  for (const fingerprint of [operation.fingerprint, ...(operation.aliases ?? [])]) {
    void takeBackClaim(gate.store, { fingerprint, executionId, ttlMs: rule.ttl, keepAtLeastMs: rule.lease })
  }
  return refuseWithoutStore(rule.onStoreError)
}

export function refuseWithoutStore(onStoreError: 'refuse' | 'pass'): Answer {
  if (onStoreError === 'pass') return { kind: 'unguarded', reason: 'store-unavailable', marked: true }
  return { kind: 'problem', problem: storeUnavailable() }
}

function nothing(): void {}
