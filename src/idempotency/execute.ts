// One execution under a lease: forward, record, settle, and only then let the client see the end.
import type { OutcomeTable } from '../model/outcome.ts'
import { problem, type Problem, type ProblemName } from '../model/problems.ts'
import type { SettledStatus } from '../model/record.ts'
import type { ExecutionTrace } from '../model/trace.ts'
import { type SettleRequest, type SettleResult, StoreUnavailable } from '../stores/store.ts'
import { type Forwarding, forward } from '../upstream/forward.ts'
import { UpstreamError } from '../upstream/upstream-error.ts'
import type { Answer, ClientStream } from './answer.ts'
import type { Gate, GuardedRequest } from './gate.ts'
import { type ExecutionLabel, executionHeaders } from './execution-headers.ts'
import { keepLease } from './keep-lease.ts'
import type { Sign } from './breaker.ts'
import type { Pass } from './limits.ts'
import { persist, withinMs } from './persist.ts'
import { Recording } from './recording.ts'
import type { RecordedAnswer } from './streamed-answer.ts'

export interface Grant extends ExecutionLabel {
  readonly pass: Pass | undefined
  /** When the request had come (`performance.now()`), where its client has waited for nothing but the gateway since. */
  readonly since: number | undefined
}

/** How the upstream's part ended. */
type Ending = 'whole' | UpstreamError

type Settling = SettleResult | 'unsettled'

/**
 * Resolves when the client has its answer or cannot get one any more. The execution itself does not depend on the
 * client: it runs on without one, unless the rule says `onDisconnect: abort`.
 */
export function execute(gate: Gate, request: GuardedRequest, grant: Grant, outcome: OutcomeTable, client: ClientStream): Promise<Answer> {
  const execution = new Execution(gate, request, grant, outcome, client)
  const answer = execution.run()
  const { fingerprint, executionId, attempt } = grant
  const running = { fingerprint, executionId, attempt, rule: request.rule.name, since: performance.now() }
  gate.live.add({ executionId, running, giveUp: () => execution.cancel(), settled: answer.then(nothing, nothing) })
  return answer
}

class Execution {
  readonly #gate: Gate
  readonly #request: GuardedRequest
  readonly #grant: Grant
  readonly #client: ClientStream
  readonly #recording: Recording
  readonly #trace: ExecutionTrace | undefined
  #forwarding: Forwarding | undefined

  constructor(gate: Gate, request: GuardedRequest, grant: Grant, outcome: OutcomeTable, client: ClientStream) {
    this.#gate = gate
    this.#request = request
    this.#grant = grant
    this.#client = client
    this.#trace = request.trace?.granted(grant)
    this.#recording = new Recording({
      gate,
      rule: request.rule,
      name: { fingerprint: grant.fingerprint, executionId: grant.executionId },
      outcome,
      trace: this.#trace?.name,
      client,
      pauseUpstream: () => this.#forwarding?.pause(),
      resumeUpstream: () => this.#forwarding?.resume(),
    })
  }

  cancel(): void {
    this.#forwarding?.cancel()
  }

  async run(): Promise<Answer> {
    const { store, durations, metrics } = this.#gate
    const { rule } = this.#request
    const { fingerprint, executionId } = this.#grant
    const started = performance.now()
    const lease = { fingerprint, executionId, leaseMs: rule.lease, ttlMs: rule.ttl }
    const release = keepLease(store, lease, {
      onLost: () => {
        metrics.leaseLost()
        this.#warn('the lease was lost: another execution may have begun')
      },
      onCancelled: () => this.cancel(),
    })
    let ending: Ending | undefined
    let answered = started
    let result: SettledStatus = 'unknown'
    let settled: Settling
    try {
      ending = await this.#forward()
      answered = performance.now()
      this.#trace?.answered(this.#recording.status, ending === 'whole' ? ending : ending.fault)
      if (ending === 'whole' && !(await this.#recording.isComplete())) ending = new UpstreamError('incomplete', true)
      result = this.#settledAs(ending)
      settled = await this.#settle(ending, result)
    } finally {
      release()
      this.#grant.pass?.leave(signOf(ending, this.#recording.outcome))
      this.#measure(result, { started, answered })
      this.#trace?.settled(result)
    }
    if (ending !== 'whole') return this.#answerFault(ending)
    if (this.#recording.outcome === 'completed') durations.add(rule.name, performance.now() - started)
    return settled === 'ok' ? this.#answerWhole() : this.#answerUnsettled(settled)
  }

  #forward(): Promise<Ending> {
    const { rule, operation, forward: sent } = this.#request
    const own = executionHeaders(sent.headers, this.#grant, operation.clientKey)
    const headers = this.#trace?.sent(own) ?? own
    const recording = this.#recording
    return new Promise((resolve) => {
      this.#forwarding = forward(
        this.#gate.upstreams.get(rule.upstream),
        { ...sent, headers, timeoutMs: rule.timeout },
        {
          onHead: (status, lines) => recording.head(status, lines),
          onData: (chunk) => recording.data(chunk),
          onEnd: () => resolve('whole'),
          onFail: resolve,
        },
      )
      this.#client.onGone(() => this.#clientGone())
      if (this.#client.gone) this.#clientGone()
    })
  }

  /** The execution does not belong to the first client alone: whoever has joined it keeps it alive. */
  #clientGone(): void {
    if (this.#request.rule.onDisconnect !== 'abort') return
    if (this.#recording.joined === 0) this.cancel()
    else this.#recording.whenDeserted(() => this.cancel())
  }

  /** `unsettled`: the store stayed out of reach for a lease; the settling goes on behind the answer, from the spool where there is room. */
  async #settle(ending: Ending, to: SettledStatus): Promise<Settling> {
    // What the log is not known to have is found out first: a clean end promises the whole answer.
    const settle = async (): Promise<SettleResult> => {
      const answer = ending === 'whole' ? await this.#recording.close() : undefined
      return this.#gate.store.settle(this.#settleRequest(to, answer))
    }
    // What nobody settles lapses into an unknown outcome by itself.
    if (to === 'unknown' || !this.#gate.spooled.enabled) return this.#settlePatiently(settle, to)
    const { storeTimeout } = this.#gate
    try {
      const stored = persist(settle, storeTimeout)
      return this.#told(to, await (this.#recording.isStreamed ? withinMs(storeTimeout, stored) : stored))
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      return (await this.#spool(ending, to)) ?? this.#settlePatiently(settle, to)
    }
  }

  /** Undefined where the spool has no room for it. */
  async #spool(ending: Ending, to: SettledStatus): Promise<Settling | undefined> {
    const { rule } = this.#request
    const { spooled } = this.#gate
    const answer = ending === 'whole' ? this.#recording.left() : undefined
    const result = { rule: rule.name, settle: this.#settleRequest(to, answer), unsure: answer?.unsure }
    if (!(await spooled.keep(result))) return undefined
    return spooled.whenSettled(this.#grant, rule.lease)
  }

  #settleRequest(to: SettledStatus, answer: RecordedAnswer | undefined): SettleRequest {
    const { ttl, lease, tombstone } = this.#request.rule
    const { fingerprint, executionId } = this.#grant
    const { response, logged } = answer ?? {}
    return {
      fingerprint,
      executionId,
      to,
      ttlMs: ttl,
      keepAtLeastMs: lease,
      tombstoneMs: tombstone,
      ...(response && { response, logged: logged ?? 0 }),
    }
  }

  async #settlePatiently(settle: () => Promise<SettleResult>, to: SettledStatus): Promise<Settling> {
    try {
      return this.#told(to, await persist(settle, this.#request.rule.lease))
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      this.#warn('the result cannot be stored yet: the store is out of reach')
      const later = persist(settle, SETTLE_LATER_MS).then(
        (result) => void this.#told(to, result),
        () => this.#warn('the result was lost: the store stayed out of reach'),
      )
      this.#gate.live.add({ giveUp: nothing, settled: later })
      return 'unsettled'
    }
  }

  #told(to: SettledStatus, result: SettleResult): SettleResult {
    this.#gate.metrics.settled(to, result)
    if (result === 'stale') this.#warn('a settle came too late and was refused: a later execution holds the record')
    return result
  }

  #measure(result: SettledStatus, { started, answered }: { started: number; answered: number }): void {
    const metrics = this.#gate.metrics.rule(this.#request.rule.name)
    const { since, executionId } = this.#grant
    metrics.ended(result, executionId)
    metrics.upstream(answered - started)
    if (since !== undefined) metrics.overhead(started - since + performance.now() - answered)
  }

  /** What was sent decides whether running again is safe. */
  #settledAs(ending: Ending): SettledStatus {
    if (ending === 'whole') return this.#recording.outcome
    return ending.sent ? 'unknown' : 'failed'
  }

  async #answerWhole(): Promise<Answer> {
    return { kind: 'streamed', status: this.#recording.status, whole: await this.#recording.end() }
  }

  #answerFault(error: UpstreamError): Promise<Answer> {
    const [name, detail] = FAULTS[error.fault]
    const { onUnknown } = this.#request.rule
    const retry = error.sent && onUnknown === 'refuse' ? 'never' : 'same-key'
    const soon = !error.sent || typeof onUnknown === 'object'
    return this.#refuse(problem(name, detail, { retry, fingerprint: this.#grant.fingerprint, ...(soon && { retryAfterMs: 1000 }) }))
  }

  #answerUnsettled(settled: 'stale' | 'unsettled'): Promise<Answer> {
    const { fingerprint } = this.#grant
    if (settled === 'stale') {
      return this.#refuse(
        problem('in-flight', 'This execution took longer than its lease, and a later one has begun: ask again for its result.', {
          fingerprint,
          retryAfterMs: 1000,
        }),
      )
    }
    if (this.#request.rule.onStoreError === 'pass') return this.#answerWhole()
    return this.#refuse(
      problem('result-pending', 'The upstream has answered, but its answer could not be stored yet: ask again for it.', {
        fingerprint,
        retryAfterMs: 1000,
      }),
    )
  }

  async #refuse(refusal: Problem): Promise<Answer> {
    if (!(await this.#recording.break(refusal))) return { kind: 'problem', problem: refusal }
    return { kind: 'streamed', status: this.#recording.status, whole: false }
  }

  #warn(message: string): void {
    const { fingerprint, executionId } = this.#grant
    this.#gate.log.warn({ rule: this.#request.rule.name, fingerprint, execution: executionId }, message)
  }
}

/** How long a result is offered to a store that does not answer, after the client was told so. */
const SETTLE_LATER_MS = 10 * 60_000

const FAULTS: Readonly<Record<UpstreamError['fault'], readonly [ProblemName, string]>> = {
  unreachable: ['upstream-unreachable', 'No connection to the upstream; nothing was sent, so the same request may be sent again.'],
  broken: ['upstream-broken', 'The request was sent, and the connection broke before the whole answer came: it may have been executed.'],
  incomplete: ['upstream-broken', 'The answer ended before the event that the rule waits for (completeOn): it may have been executed.'],
  timeout: ['upstream-timeout', 'The request was sent, and no whole answer came in time: it may have been executed.'],
  cancelled: ['upstream-broken', 'The execution was cancelled before the whole answer came: it may have been executed.'],
}

/** `known` also where the answer said that it failed: the upstream has answered. */
function signOf(ending: Ending | undefined, outcome: SettledStatus): Sign {
  if (ending === undefined) return 'cancelled'
  if (ending === 'whole') return outcome === 'unknown' ? 'unknown' : 'known'
  if (ending.fault === 'cancelled') return 'cancelled'
  return ending.sent ? 'unknown' : 'unreachable'
}

function nothing(): void {}
