// Whether each record went only where the contract draws an arrow, and ended where its history says.
import { bodyPieces, hashOf } from './body.ts'
import type { StatusEvent } from './history.ts'
import type { Limits } from './rules.ts'
import { classOf, type Execution, isResult, type Timeline, wentWell, type WishStory } from './timeline.ts'

type Report = (check: string, what: string) => void

/** Within one attempt; the execution that holds it is always the same. */
const NEXT: Readonly<Record<string, readonly string[]>> = {
  processing: ['processing', 'completed', 'failed', 'unknown'],
  // The late answer of an execution whose lease ran out.
  unknown: ['unknown', 'completed', 'failed'],
  failed: ['failed'],
  completed: ['completed'],
}

export function checkStates({ stories, faults, run }: Timeline, report: Report): void {
  for (const story of stories) {
    const readings = story.statuses.filter(({ code }) => code === 200 || code === 404).toSorted((one, other) => one.at - other.at)
    for (const [n, later] of readings.entries()) {
      for (const earlier of readings.slice(0, n)) {
        if (earlier.until <= later.at) checkStep(story, earlier, later, report)
      }
    }
    const final = story.statuses.findLast((reading) => reading.final)
    if (final !== undefined) checkEnd(story, final, { ...run.limits, troubled: faults.anyBefore(Infinity) }, report)
    else if (story.exchanges.some(({ outcome }) => isResult(outcome))) report('no-final-reading', story.wish)
  }
}

function checkStep({ wish, executions }: WishStory, earlier: StatusEvent, later: StatusEvent, report: Report): void {
  const step = `${wish}: ${told(earlier)}, then ${told(later)}`
  if (earlier.status === undefined) return
  if (later.status === undefined) return report('record-lost', step)
  if (later.attempt! < earlier.attempt!) return report('attempt-went-back', step)
  if (later.attempt! > earlier.attempt!) {
    if (earlier.status === 'completed') report('step-not-drawn', step)
    return
  }
  if (later.execution !== earlier.execution) report('attempt-changed-hands', step)
  // Its own claim, asked for again after a standstill, before anything was sent.
  const begun = executions.find(({ begun }) => begun.execution === later.execution)?.begun
  if (earlier.status === 'unknown' && later.status === 'processing' && (begun === undefined || begun.at > earlier.at)) return
  if (!NEXT[earlier.status]?.includes(later.status)) report('step-not-drawn', step)
}

function told({ status, code, attempt, execution }: StatusEvent): string {
  return status === undefined ? String(code) : `${status} (attempt ${attempt}, ${execution})`
}

function checkEnd(story: WishStory, final: StatusEvent, at: Limits & { troubled: boolean }, report: Report): void {
  const { wish, executions, exchanges } = story
  const what = `${wish} ends as ${told(final)}`
  const highest = Math.max(0, ...executions.map(({ begun }) => begun.attempt))
  if (final.code !== 200) {
    if (executions.length > 0) report('record-lost', `${what}, and was executed`)
    return
  }
  if (final.attempt! < highest) report('attempt-went-back', `${what}, and attempt ${highest} was executed`)
  const execution = executions.find(({ begun }) => begun.execution === final.execution)
  const seen = exchanges.some(({ outcome }) => isResult(outcome))
  if (seen && final.status !== 'completed') report('result-forgotten', `${what}, and its result was seen`)
  switch (final.status) {
    case 'completed':
      return checkCompleted(story, final, execution, report)
    case 'failed':
      // Without an execution: it never reached the upstream.
      if (execution !== undefined && !answered(execution, 'failed')) report('ends-wrongly', `${what}, and the upstream did not say so`)
      return
    case 'unknown':
      if (!at.troubled && executions.every((one) => wentWell(one, at))) report('unknown-without-cause', what)
      return
    default:
      report('never-settled', what)
  }
}

function checkCompleted({ wish, exchanges }: WishStory, final: StatusEvent, execution: Execution | undefined, report: Report): void {
  const what = `${wish} ends as ${told(final)}`
  if (execution === undefined || !answered(execution, 'completed'))
    return report('ends-wrongly', `${what}, and the upstream did not say so`)
  const hash = hashOf(Buffer.concat(bodyPieces(execution.begun)))
  if (final.resultHash !== `sha256:${hash}`) report('another-result', `${what}, and its hash is not that of the upstream's answer`)
  const after = exchanges.find(({ asked }) => asked.phase === 'after')
  if (after === undefined) return report('not-collected', what)
  const { outcome } = after
  if (!isResult(outcome) || !outcome.replayed || outcome.hash !== hash) {
    const got = outcome?.type === 'answered' ? `${outcome.status} ${outcome.error ?? ''}, ${outcome.bytes} bytes` : outcome?.why
    report('not-replayable', `${what}, and whoever asks gets ${got}`)
  }
}

function answered({ begun, ended }: Execution, as: 'completed' | 'failed'): boolean {
  return ended?.how === 'answered' && classOf(begun.status) === as
}
