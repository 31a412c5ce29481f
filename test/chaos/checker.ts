// The judge of a chaos run: a pure function of its history, which shares nothing with the gateway's own code.
import { checkAnswers } from './check-answers.ts'
import { checkExecutions } from './check-executions.ts'
import { checkStates } from './check-states.ts'
import type { HistoryEvent } from './history.ts'
import { timelineOf } from './timeline.ts'

export interface Violation {
  /** Which promise was broken. */
  readonly check: string
  readonly what: string
}

/** None where every promise was kept. */
export function check(history: readonly HistoryEvent[]): Violation[] {
  const violations: Violation[] = []
  const report = (check: string, what: string): void => void violations.push({ check, what })
  const timeline = timelineOf(history)
  checkExecutions(timeline, report)
  checkAnswers(timeline, report)
  checkStates(timeline, report)
  for (const { gateway, what } of timeline.troubles) report('gateway-in-trouble', `gateway ${gateway}: ${what}`)
  return violations
}
