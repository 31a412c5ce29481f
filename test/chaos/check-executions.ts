// Whether the upstream was made to act more often than the wish's rule allows.
import type { ChaosRule, Limits } from './rules.ts'
import { classOf, type Execution, isResult, type Timeline, type WishStory } from './timeline.ts'

/** Between what the gateway and the upstream take for the same moment. */
const SLACK_MS = 50
/** Between a claim and the upstream's having the request, on a machine that is not at fault. */
const BEFORE_MS = 1000

export function checkExecutions({ stories, faults, run }: Timeline, report: (check: string, what: string) => void): void {
  const ids = new Set<string>()
  for (const story of stories) {
    for (const { begun } of story.executions) {
      if (ids.has(begun.execution)) report('execution-sent-twice', `${story.wish}: ${name(begun)} reached the upstream twice`)
      ids.add(begun.execution)
    }
    for (const [n, later] of story.executions.entries()) {
      for (const earlier of story.executions.slice(0, n)) {
        // The later one may have been let in first, and have stood still before it sent anything.
        const overtaken = later.begun.attempt < earlier.begun.attempt
        const [first, second] = overtaken ? [later, earlier] : [earlier, later]
        const lost = faults.touched(first.begun.gateway, first.begun.at - BEFORE_MS, second.begun.at)
        checkAttempts(story, { earlier, later, lost: faults.touched(later.begun.gateway, 0, later.begun.at) }, report)
        const why = overtaken
          ? lost
            ? undefined
            : 'it did not lose its lease'
          : whyNot(story.rule, earlier, later, { lost, ...run.limits })
        if (why !== undefined) report('executed-again', `${story.wish}: ${name(later.begun)} after ${name(earlier.begun)}: ${why}`)
      }
    }
    checkPayloads(story, report)
    checkAfterResult(story, report)
  }
}

interface Pair {
  readonly earlier: Execution
  readonly later: Execution
  /** The later one's gateway was at fault before it sent. */
  readonly lost: boolean
}

function checkAttempts({ wish }: WishStory, { earlier, later, lost }: Pair, report: (check: string, what: string) => void): void {
  const [one, other] = [earlier.begun, later.begun]
  if (other.attempt === one.attempt) report('attempt-repeated', `${wish}: ${name(one)} and ${name(other)}`)
  if (other.attempt < one.attempt && !lost)
    report('attempts-fall', `${wish}: ${name(one)}, then ${name(other)}, with no fault to explain it`)
}

/** Undefined where the rule allows the later execution after the earlier one. */
function whyNot(rule: ChaosRule, earlier: Execution, later: Execution, at: Limits & { lost: boolean }): string | undefined {
  const { begun, ended, askedAt } = earlier
  const over = ended !== undefined && ended.at <= later.begun.at + SLACK_MS / 10
  const again = rule.onUnknown === 'retry'
  if (over && ended.how === 'answered' && classOf(begun.status) === 'failed') {
    if (rule.onFailed === 'retry') return undefined
    return again && at.lost ? undefined : `it had failed with ${begun.status}, which is to be replayed`
  }
  if (!again) return 'it may have acted, and the rule refuses after an unknown outcome'
  if (at.lost) return undefined
  if (over && ended.how === 'reset') return undefined
  if (over && ended.how === 'answered') return classOf(begun.status) === 'completed' ? 'it had completed' : undefined
  // The gateway may have given up in time, and the upstream not noticed yet.
  const inTime = later.begun.at >= askedAt + at.timeoutMs - SLACK_MS
  return inTime ? undefined : over ? 'it was given up before its time' : 'it was still running, and had not lost its lease'
}

function checkPayloads({ wish, executions }: WishStory, report: (check: string, what: string) => void): void {
  const payloads = new Set(executions.map(({ begun }) => begun.payload))
  if (payloads.size > 1) report('two-payloads', `${wish}: executed with payloads ${[...payloads].join(' and ')}`)
}

/** A result that somebody has seen is final. */
function checkAfterResult({ wish, exchanges, executions }: WishStory, report: (check: string, what: string) => void): void {
  const seen = Math.min(...exchanges.map(({ outcome }) => (isResult(outcome) ? outcome.at : Infinity)))
  for (const { begun } of executions) {
    if (begun.at > seen) report('executed-after-result', `${wish}: ${name(begun)} at ${begun.at}, and its result was seen at ${seen}`)
  }
}

function name({ execution, attempt, gateway }: Execution['begun']): string {
  return `attempt ${attempt} (${execution} by gateway ${gateway})`
}
