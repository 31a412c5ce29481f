// Whether every answer is one that its request may get: whole, its own, in time, and the same for everybody.
import { bodyPieces, hashOf } from './body.ts'
import type { AnsweredEvent } from './history.ts'
import { type Exchange, type Execution, isResult, type Timeline, wentWell, type WishStory } from './timeline.ts'

type Report = (check: string, what: string) => void

export function checkAnswers(timeline: Timeline, report: Report): void {
  const owners = new Map<string, string>()
  for (const story of timeline.stories) {
    const executors = new Set(story.executions.map(({ begun }) => begun.request))
    const bodies = new Bodies(story.executions)
    for (const exchange of story.exchanges) {
      checkTime(timeline, story, exchange, executors.has(exchange.asked.request), report)
      const { outcome } = exchange
      if (outcome?.type !== 'answered') continue
      checkFingerprint(story, outcome, owners, report)
      if (outcome.error === undefined) checkBody(story, exchange, { outcome, bodies, executes: executors.has(outcome.request) }, report)
      else checkProblem(timeline, story, { ...exchange, outcome }, report)
    }
    checkOneResult(story, bodies, report)
    checkStaysUnknown(story, report)
  }
}

/** The bytes of each execution's answer, made once. */
class Bodies {
  readonly #executions: readonly Execution[]
  readonly #made = new Map<string, Buffer>()

  constructor(executions: readonly Execution[]) {
    this.#executions = executions
  }

  /** The executions whose answer begins with what was received, or is it. */
  matching({ bytes, hash, whole, status }: AnsweredEvent): Execution[] {
    return this.#executions.filter(({ begun }) => {
      if (begun.status !== status) return false
      const body = this.#of(begun)
      return bytes <= body.length && (!whole || bytes === body.length) && hashOf(body.subarray(0, bytes)) === hash
    })
  }

  #of(begun: Execution['begun']): Buffer {
    const body = this.#made.get(begun.execution) ?? Buffer.concat(bodyPieces(begun))
    this.#made.set(begun.execution, body)
    return body
  }
}

function checkFingerprint({ wish }: WishStory, { fingerprint, request }: AnsweredEvent, owners: Map<string, string>, report: Report): void {
  if (fingerprint === undefined) return
  const owner = owners.get(fingerprint)
  if (owner !== undefined && owner !== wish) report('fingerprint-shared', `request ${request} of ${wish} has the fingerprint of ${owner}`)
  owners.set(fingerprint, wish)
}

interface Received {
  readonly outcome: AnsweredEvent
  readonly bodies: Bodies
  /** The upstream was called for this request. */
  readonly executes: boolean
}

function checkBody({ wish }: WishStory, { asked }: Exchange, { outcome, bodies, executes }: Received, report: Report): void {
  const matching = bodies.matching(outcome)
  const what = `request ${asked.request} of ${wish}: ${outcome.status}, ${outcome.bytes} bytes`
  if (matching.length === 0) return report(outcome.whole ? 'not-the-upstreams-answer' : 'not-a-beginning', what)
  if (outcome.whole && matching.every(({ ended }) => ended?.how !== 'answered')) report('clean-end-of-a-broken-answer', what)
  if (matching.every(({ begun }) => begun.payload !== asked.payload)) report('anothers-payload', what)
  if (!executes && !outcome.replayed) report('executed-unseen', `${what}: no replay, and the upstream was not called for it`)
  if (executes && outcome.replayed && matching.some(({ begun }) => begun.request === asked.request)) {
    report('own-answer-replayed', what)
  }
}

/** Of one wish only one result is ever seen, and once it is seen nothing else. */
function checkOneResult({ wish, exchanges }: WishStory, bodies: Bodies, report: Report): void {
  const results = exchanges.filter(({ outcome }) => isResult(outcome))
  const hashes = new Set(results.map(({ outcome }) => (isResult(outcome) ? outcome.hash : '')))
  if (hashes.size > 1) report('two-results', `${wish}: ${hashes.size} different results were seen`)
  const seen = Math.min(...results.map(({ outcome }) => outcome!.at))
  for (const { asked, outcome } of exchanges) {
    if (asked.at <= seen || outcome?.type !== 'answered' || isResult(outcome)) continue
    const what = `request ${asked.request} of ${wish}: ${outcome.status} ${outcome.error ?? ''}, after the result was seen`
    if (outcome.error === undefined) {
      // A replay that broke off is no other answer.
      if (outcome.whole || bodies.matching(outcome).length === 0) report('result-forgotten', what)
    } else if (!AFTER_RESULT.has(outcome.error) || asked.phase === 'after') report('result-forgotten', what)
  }
}

/** Where the rule refuses after an unknown outcome, nobody finds it in flight again. */
function checkStaysUnknown({ wish, rule, exchanges, executions }: WishStory, report: Report): void {
  if (rule.onUnknown === 'retry') return
  const told = (error: string) => (one: Exchange) => one.outcome?.type === 'answered' && one.outcome.error === error
  const unknown = Math.min(...exchanges.filter(told('outcome-unknown')).map(({ outcome }) => outcome!.at))
  for (const { asked } of exchanges.filter(told('in-flight'))) {
    // Its own claim, asked for again after a standstill, before anything was sent.
    const begunLater = executions.some(({ begun }) => begun.at > unknown)
    if (asked.at > unknown && !begunLater) report('in-flight-after-unknown', `request ${asked.request} of ${wish}, after ${unknown}`)
  }
}

/** A gateway whose settling was not answered does not know that others have seen the result. */
const AFTER_RESULT = new Set(['store-unavailable', 'result-pending', 'shutting-down', 'key-reused'])

interface Refused extends Exchange {
  readonly outcome: AnsweredEvent
}

function checkProblem({ faults, run }: Timeline, story: WishStory, { asked, outcome }: Refused, report: Report): void {
  const { rule, wish, exchanges, executions } = story
  const what = `request ${asked.request} of ${wish}: ${outcome.status} ${outcome.error}`
  if (STATUS_OF[outcome.error!] !== outcome.status) return report('unexpected-problem', what)
  const troubled = faults.anyBefore(outcome.at) || executions.some((one) => one.begun.at <= outcome.at && !wentWell(one, run.limits))
  switch (outcome.error) {
    case 'key-reused':
      if (exchanges.every((other) => other.asked.payload === asked.payload)) report('conflict-with-nobody', what)
      return
    case 'outcome-unknown':
      if (rule.onUnknown === 'retry') report('refused-against-the-rule', what)
      else if (!troubled) report('unknown-without-cause', what)
      return
    case 'in-flight':
      return
    default:
      if (!troubled) report('trouble-without-cause', what)
  }
}

const STATUS_OF: Readonly<Record<string, number>> = {
  'in-flight': 425,
  'outcome-unknown': 409,
  'key-reused': 422,
  'upstream-unreachable': 502,
  'upstream-broken': 502,
  'upstream-timeout': 504,
  'store-unavailable': 503,
  'result-pending': 503,
}

/** For what no limit counts: a busy machine. */
const SLACK_MS = 1500

function checkTime(
  { run, faults }: Timeline,
  { wish, rule }: WishStory,
  { asked, outcome }: Exchange,
  executes: boolean,
  report: Report,
): void {
  if (outcome === undefined) return report('never-answered', `request ${asked.request} of ${wish}`)
  const { leaseMs, timeoutMs, maxWaitMs, storeTimeoutMs } = run.limits
  const held = rule.inFlight !== 'refuse' || asked.wait !== undefined ? maxWaitMs : 0
  const joins = rule.inFlight === 'attach'
  const limit = held + (executes || joins ? timeoutMs + leaseMs : 0) + 3 * storeTimeoutMs + SLACK_MS
  const took = outcome.at - asked.at
  if (took > limit + faults.overlap(asked.gateway, asked.at, outcome.at)) {
    const how = outcome.type === 'answered' ? `${outcome.status} ${outcome.error ?? ''}` : outcome.why
    report('over-the-limit', `request ${asked.request} of ${wish} took ${Math.round(took)} of ${limit} ms: ${how}`)
  }
}
