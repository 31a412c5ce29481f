// What is known of a record's life: what it says itself, and what this gateway has seen of it.
import type { Transition } from '../idempotency/history.ts'
import { rfc3339 } from '../model/record-document.ts'
import type { RecordView } from '../model/record.ts'

/** One line of the timeline, in JSON. */
export interface TimelineStep {
  readonly at: string
  readonly from?: string | undefined
  readonly to: string
  readonly execution?: string | undefined
  readonly attempt?: number | undefined
  /** `record`: it says so itself; `gateway`: this gateway did it; `operator`: somebody's word on this admin port. */
  readonly by: 'record' | 'gateway' | 'operator'
  readonly reason?: string | undefined
}

/** In the order of time. Steps of other gateways that a later one has covered are not known here. */
export function timeline(record: RecordView, seen: readonly Transition[]): TimelineStep[] {
  const steps = [...ofRecord(record, seen), ...seen.map(ofGateway)]
  return steps.toSorted(([a], [b]) => a - b).map(([, step]) => step)
}

type Timed = readonly [ms: number, step: TimelineStep]

function ofRecord(record: RecordView, seen: readonly Transition[]): Timed[] {
  const { createdAt, startedAt, updatedAt, attempt, executionId: execution, status } = record
  const knows = (to: string): boolean => seen.some((step) => step.executionId === execution && step.to === to)
  const steps: Timed[] = []
  if (attempt === 1 || startedAt > createdAt) {
    steps.push(timed(createdAt, { from: 'none', to: 'processing', ...(attempt === 1 && { execution, attempt }), by: 'record' }))
  }
  if (attempt > 1 && !knows('processing')) steps.push(timed(startedAt, { to: 'processing', execution, attempt, by: 'record' }))
  if (status !== 'processing' && !knows(status)) {
    // Nobody writes down that a lease lapses: it shows in the reading.
    const lapsed = status === 'unknown' && updatedAt === startedAt
    const reason = lapsed ? 'its lease ran out: the gateway that executed it is gone, or lost the store' : undefined
    steps.push(timed(updatedAt, { to: status, execution, by: 'record', reason }))
  }
  return steps
}

function ofGateway({ at, from, to, executionId: execution, attempt, by, reason }: Transition): Timed {
  return timed(at, { from, to, execution, attempt, by, reason })
}

function timed(ms: number, step: Omit<TimelineStep, 'at'>): Timed {
  return [ms, { at: rfc3339(ms), ...step }]
}
