// The heart: who may execute, and what everybody else gets.
import { newExecutionId } from '../model/execution-id.ts'
import type { OutcomeTable } from '../model/outcome.ts'
import { type AcquireRequest, type Claim, StoreUnavailable } from '../stores/store.ts'
import type { Answer, ClientStream } from './answer.ts'
import { attach, type Joined } from './attach.ts'
import { execute } from './execute.ts'
import type { Gate, GuardedRequest } from './gate.ts'
import { persist, takeBackClaim } from './persist.ts'
import { NOBODY } from './nobody.ts'
import { refuseInFlight, refuseReuse, refuseUnknown, storeUnavailable } from './refuse.ts'
import { followed, joinedHeaders, replay } from './replay.ts'
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
      persist(() => gate.store.acquire(acquireRequest(request, executionId, onCompleted)), gate.storeTimeout)
    let claim: Joined = await acquire(request.operation.firstTry ? 'execute' : 'replay')
    const held = claim.kind === 'in_flight' && holdMs > 0 && !request.respondAsync
    if (claim.kind === 'in_flight' && held) {
      // What was in flight when the request came is its answer, first try or not.
      claim = await hold(gate, request, claim, { client, limitMs: holdMs, acquire: () => acquire('replay') })
    }
    const answer = await answerTo(gate, request, claim, { executionId, outcome, client })
    return { answer: held && request.preferWait !== undefined ? withPreference(answer, holdMs) : answer, fingerprint: nameOf(claim) }
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    return { answer: answerWithoutStore(gate, request, executionId), fingerprint: request.operation.fingerprint }
  }
}

/** Waits for a turn, but not at a gateway whose time is over: it could not finish what it began. */
function hold(
  gate: Gate,
  { rule }: GuardedRequest,
  claim: Extract<Claim, { kind: 'in_flight' }>,
  { client, limitMs, acquire }: { client: ClientStream; limitMs: number; acquire: () => Promise<Claim> },
): Promise<Joined> {
  let over = false
  let wakeUp = nothing
  const onGone = (wake: () => void): void => {
    client.onGone(wake)
    wakeUp = wake
  }
  const waiter = { limitMs, gone: () => over || client.gone, onGone }
  const turn = rule.inFlight.answer === 'attach' ? attach(gate, claim, waiter, acquire) : waitForTurn(gate.store, claim, waiter, acquire)
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

function answerTo(gate: Gate, request: GuardedRequest, claim: Joined, turn: Turn): Answer | Promise<Answer> {
  switch (claim.kind) {
    case 'acquired':
      return start(gate, request, claim, turn)
    case 'in_flight':
      return request.respondAsync
        ? { kind: 'accepted', fingerprint: claim.record.fingerprint }
        : refuseInFlight(gate, request, claim.record)
    case 'joined':
      return followed(claim.answer, request.lastEventId, joinedHeaders(claim.answer.fingerprint))
    case 'completed':
    case 'failed':
      return replay(gate.store, claim.response, claim.record, { lastEventId: request.lastEventId, streamIds: request.rule.streamIds })
    case 'unknown':
      return refuseUnknown(claim.record)
    case 'key_reused':
      return refuseReuse(request, claim)
  }
}

/** In the background where the client prefers that: the execution then belongs to nobody who could leave. */
function start(gate: Gate, request: GuardedRequest, claim: Extract<Claim, { kind: 'acquired' }>, turn: Turn): Answer | Promise<Answer> {
  const { fingerprint, attempt } = claim
  const grant = { fingerprint, attempt, executionId: turn.executionId }
  if (!request.respondAsync) return execute(gate, request, grant, turn.outcome, request.streamTo?.(grant) ?? turn.client)
  execute(gate, request, grant, turn.outcome, NOBODY).catch((error: unknown) =>
    gate.log.error({ err: error, fingerprint: claim.fingerprint }, 'an execution in the background failed'),
  )
  return { kind: 'accepted', fingerprint: claim.fingerprint }
}

function nameOf(claim: Joined): string {
  if (claim.kind === 'acquired') return claim.fingerprint
  return claim.kind === 'joined' ? claim.answer.fingerprint : claim.record.fingerprint
}

function acquireRequest(
  { rule, operation }: GuardedRequest,
  executionId: string,
  onCompleted: AcquireRequest['onCompleted'],
): AcquireRequest {
  return {
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
    onUnknown: rule.onUnknown,
    onCompleted,
  }
}

/** Milliseconds a duplicate in flight is held: what the rule says, or what the client prefers up to the rule's limit. */
function holdTime({ rule, preferWait }: GuardedRequest): number {
  if (preferWait !== undefined) return Math.min(preferWait * 1000, rule.inFlight.maxWait)
  return rule.inFlight.answer === 'refuse' ? 0 : rule.inFlight.maxWait
}

/** RFC 7240 section 3: the client learns that its preference was honoured. */
function withPreference(answer: Answer, holdMs: number): Answer {
  if (answer.kind !== 'problem' && answer.kind !== 'replay' && answer.kind !== 'follow') return answer
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
