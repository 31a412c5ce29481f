// The heart: who may execute, and what everybody else gets.
import { newExecutionId } from '../model/execution-id.ts'
import type { OutcomeTable } from '../model/outcome.ts'
import { StoreFull, StoreUnavailable } from '../stores/store.ts'
import type { Answer, ClientStream } from './answer.ts'
import { attach, type Joined } from './attach.ts'
import { execute } from './execute.ts'
import type { Gate, GuardedRequest } from './gate.ts'
import type { Pass } from './limits.ts'
import { NOBODY } from './nobody.ts'
import {
  expired,
  refuseBusy,
  refuseInFlight,
  refuseName,
  refuseReuse,
  refuseSpooled,
  refuseUnknown,
  storeFull,
  storeUnavailable,
} from './refuse.ts'
import { followed, joinedHeaders, replay } from './replay.ts'
import type { Use } from './retry-storms.ts'
import type { Acquired, InFlight, Turn } from './turn.ts'
import { Turns } from './turns.ts'
import { waitForTurn } from './wait.ts'

export interface Handled {
  readonly answer: Answer
  /** Of the record that decided; the request's own where the store did not say. */
  readonly fingerprint: string
}

export async function handleRequest(gate: Gate, request: GuardedRequest, outcome: OutcomeTable, client: ClientStream): Promise<Handled> {
  const executionId = newExecutionId()
  const holdMs = holdTime(request)
  const turns = new Turns(gate, request, { executionId, client })
  let met: Joined | undefined
  try {
    const taken = await takeTurn(turns, request)
    if (typeof taken === 'string') return inBackground(gate, request, { executionId, outcome, client }, { fingerprint: taken, turns })
    let claim: Joined = taken
    gate.storms.used(useOf(request, claim))
    met = claim
    const held = claim.kind === 'in_flight' && holdMs > 0 && !request.respondAsync
    if (claim.kind === 'in_flight' && held) {
      // What was in flight when the request came is its answer, first try or not.
      claim = await hold(gate, request, claim, { client, limitMs: holdMs, acquire: () => turns.take('replay') })
    }
    const waited = held || turns.unknownMet || turns.hasWaited
    const fingerprint = nameOf(claim) ?? request.operation.fingerprint
    request.trace?.checked(claim.kind, fingerprint)
    const answer = await answerTo(gate, request, claim, { executionId, outcome, client, since: waited ? undefined : request.since })
    if (!waited && (claim.kind !== 'acquired' || request.respondAsync))
      gate.metrics.rule(request.rule.name).overhead(performance.now() - request.since)
    return { answer: held && request.preferWait !== undefined ? withPreference(answer, holdMs) : answer, fingerprint }
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    return {
      answer: answerWithoutStore(gate, request, {
        executionId,
        recordMet: met !== undefined || turns.unknownMet || turns.hasWaited,
        error,
      }),
      fingerprint: request.operation.fingerprint,
    }
  }
}

/** The turn, however long that takes; or where the client prefers not to wait, the name of the record that waits for its group. */
function takeTurn(turns: Turns, request: GuardedRequest): Promise<Turn | string> {
  const onCompleted = request.operation.firstTry ? 'execute' : 'replay'
  if (!request.respondAsync || request.rule.exclusive === undefined) return turns.take(onCompleted)
  const waiting = new Promise<string>((resolve) => (turns.onWaiting = resolve))
  turns.taken = turns.take(onCompleted)
  return Promise.race([turns.taken, waiting])
}

/** RFC 7240 4.1: it will be executed when its group is free. */
function inBackground(
  gate: Gate,
  request: GuardedRequest,
  execution: Omit<Execution, 'since'>,
  { fingerprint, turns }: { fingerprint: string; turns: Turns },
): Handled {
  const { executionId } = execution
  const begun = turns.taken?.then((turn) => {
    if (turn.kind === 'acquired') return start(gate, request, turn, { ...execution, since: undefined })
    return undefined
  })
  begun?.catch((error: unknown) => {
    if (error instanceof StoreUnavailable) answerWithoutStore(gate, request, { executionId, recordMet: true, error })
    else gate.log.error({ err: error, fingerprint }, 'a request that waited in the background failed')
  })
  return { answer: { kind: 'accepted', fingerprint, status: 'pending' }, fingerprint }
}

/** Waits for a turn, but not at a gateway whose time is over: it could not finish what it began. */
function hold(
  gate: Gate,
  { rule }: GuardedRequest,
  claim: InFlight,
  { client, limitMs, acquire }: { client: ClientStream; limitMs: number; acquire: () => Promise<Turn> },
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

interface Execution {
  readonly executionId: string
  readonly outcome: OutcomeTable
  readonly client: ClientStream
  /** When the request had come, where its client has waited for nothing but the gateway since. */
  readonly since: number | undefined
}

function answerTo(gate: Gate, request: GuardedRequest, claim: Joined, execution: Execution): Answer | Promise<Answer> {
  switch (claim.kind) {
    case 'acquired':
      return start(gate, request, claim, execution)
    case 'in_flight':
      return request.respondAsync
        ? { kind: 'accepted', fingerprint: claim.record.fingerprint, status: claim.record.status === 'pending' ? 'pending' : 'processing' }
        : refuseInFlight(gate, request, claim.record)
    case 'joined':
      return followed(claim.answer, request.lastEventId, joinedHeaders(claim.answer.fingerprint))
    case 'completed':
    case 'failed':
      return replay(gate.store, claim.response, claim.record, { lastEventId: request.lastEventId, streamIds: request.rule.streamIds })
    case 'unknown':
      return refuseUnknown(claim.record, claim.askAgainMs)
    case 'expired':
      return { kind: 'problem', problem: expired(claim.record.fingerprint) }
    case 'name_used':
      return refuseName(request, claim.places)
    case 'busy':
      return refuseBusy(gate, request, claim.heldMs)
    case 'refused':
      return { kind: 'problem', problem: claim.problem }
    case 'key_reused':
      return refuseReuse(request, claim)
  }
}

/** In the background where the client prefers that: the execution then belongs to nobody who could leave. */
function start(
  gate: Gate,
  request: GuardedRequest,
  claim: Acquired,
  { executionId, outcome, client, since }: Execution,
): Answer | Promise<Answer> {
  const { fingerprint, attempt, pass } = claim
  const grant = { fingerprint, attempt, executionId, pass, since: request.respondAsync ? undefined : since }
  gate.metrics.rule(request.rule.name).granted(claim.after, executionId)
  const run = () => execute(gate, request, grant, outcome, request.respondAsync ? NOBODY : (request.streamTo?.(grant) ?? client))
  const answer = pass === undefined ? run() : executeWith(pass, run)
  if (!request.respondAsync) return answer
  answer.catch((error: unknown) => gate.log.error({ err: error, fingerprint }, 'an execution in the background failed'))
  return { kind: 'accepted', fingerprint, status: 'processing' }
}

/** The execution leaves its place as soon as it has ended; whatever else happens, it is left. */
async function executeWith(pass: Pass, run: () => Promise<Answer>): Promise<Answer> {
  try {
    return await run()
  } finally {
    pass.leave('cancelled')
  }
}

function useOf({ rule, operation, since }: GuardedRequest, claim: Joined): Use {
  const record = 'record' in claim ? claim.record : undefined
  return {
    rule: rule.name,
    since,
    fingerprint: nameOf(claim) ?? operation.fingerprint,
    first: claim.kind === 'acquired' && claim.after === 'none',
    age: record && record.readAt - record.createdAt,
  }
}

/** Undefined where no record was met. */
function nameOf(claim: Joined): string | undefined {
  switch (claim.kind) {
    case 'acquired':
      return claim.fingerprint
    case 'joined':
      return claim.answer.fingerprint
    case 'busy':
    case 'name_used':
    case 'refused':
      return undefined
    default:
      return claim.record.fingerprint
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

/**
 * The claim may have been applied all the same, under any of the names: it is taken back, so that it cannot lapse into an
 * unknown outcome. Where an earlier execution was met before the store went, no rule lets the request pass beside it.
 */
function answerWithoutStore(
  gate: Gate,
  { rule, operation }: GuardedRequest,
  { executionId, recordMet, error }: { executionId: string; recordMet: boolean; error: StoreUnavailable },
): Answer {
  for (const fingerprint of [operation.fingerprint, ...(operation.aliases ?? [])]) {
    void gate.takeBacks.takeBack({ fingerprint, executionId, ttlMs: rule.ttl, keepAtLeastMs: rule.lease })
  }
  // It was executed, and this gateway has the result: no rule lets the request pass beside it.
  if (gate.spooled.holds(operation)) return refuseSpooled(operation.fingerprint)
  if (error instanceof StoreFull && rule.onStoreError === 'refuse') return { kind: 'problem', problem: storeFull() }
  return refuseWithoutStore(recordMet ? 'refuse' : rule.onStoreError)
}

export function refuseWithoutStore(onStoreError: 'refuse' | 'pass'): Answer {
  if (onStoreError === 'pass') return { kind: 'unguarded', reason: 'store-unavailable', marked: true }
  return { kind: 'problem', problem: storeUnavailable() }
}

function nothing(): void {}
