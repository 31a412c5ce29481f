// Walks through every state that the small world can be in, to a depth, and looks in each whether the promises hold.
import type { RecordView } from '../../src/model/record.ts'
import { type Bounds, firstState, LEASE, nextSteps, type State, type Step } from './small-world.ts'

export interface Explored {
  /** From which every next step was taken. */
  readonly states: number
  readonly steps: number
  /** Each with the way that leads to it, step by step. */
  readonly broken: readonly { readonly promise: string; readonly way: readonly string[] }[]
}

/** What the explorer knows of the way to a state, besides the state. */
interface Visit {
  readonly state: State
  readonly way: readonly string[]
  /** By execution: its attempt, and until when it was promised to be alone. */
  readonly grants: Readonly<Record<string, { readonly attempt: number; readonly leaseUntil: number; readonly settled: boolean }>>
  /** The execution whose result was acknowledged. */
  readonly acknowledged: string | undefined
}

/** Breadth first, so that the way to what is broken is a shortest one. */
export async function explore(bounds: Bounds, depth: number): Promise<Explored> {
  const seen = new Set<string>()
  const broken: { promise: string; way: readonly string[] }[] = []
  let frontier: Visit[] = [{ state: firstState(bounds), way: [], grants: {}, acknowledged: undefined }]
  let steps = 0
  for (let level = 0; level < depth && broken.length === 0; level++) {
    const next: Visit[] = []
    for (const visit of frontier) {
      for (const step of await nextSteps(visit.state, bounds)) {
        steps++
        const reached = follow(visit, step)
        for (const promise of brokenPromises(visit, step, bounds)) broken.push({ promise, way: reached.way })
        // Where the last step leads to is looked at, and not gone on from.
        if (level === depth - 1) continue
        const key = keyOf(reached)
        if (seen.has(key)) continue
        seen.add(key)
        next.push(reached)
      }
    }
    frontier = next
  }
  return { states: seen.size, steps, broken }
}

function follow(visit: Visit, { name, state, store }: Step): Visit {
  const way = [...visit.way, name]
  if (store === undefined) return { ...visit, state, way }
  const { verb, execution, result, attempt } = store.reply
  const known = visit.grants[execution]
  const leaseUntil = state.clock + LEASE
  const grant = (now: Visit['grants'][string]): Visit => ({ ...visit, state, way, grants: { ...visit.grants, [execution]: now } })
  if (verb === 'acquire' && result === 'acquired') return grant({ attempt, leaseUntil, settled: false })
  if (verb === 'renew' && result === 'ok' && known !== undefined) return grant({ ...known, leaseUntil })
  if (verb === 'settle' && result === 'ok' && known !== undefined) {
    const completed = store.after?.status === 'completed' ? execution : visit.acknowledged
    return { ...grant({ ...known, settled: true }), acknowledged: completed }
  }
  return { ...visit, state, way }
}

/** Two ways that lead to the same are one. The gateways are alike, what is over is over, and a lease is what is left of it. */
function keyOf({ state, grants, acknowledged }: Visit): string {
  const { clock, left, gateways, kept, upstream } = state
  const leaseLeft = (until: number): number => Math.max(0, until - clock)
  const messages = state.messages.map(({ verb, execution, to }) => `${verb} ${execution} ${to}`).toSorted()
  const granted = Object.entries(grants).map(
    ([execution, { attempt, leaseUntil, settled }]) => `${execution} ${attempt} ${settled ? 'settled' : leaseLeft(leaseUntil)}`,
  )
  const running = gateways.map(({ phase, execution, attempt, to }) => (phase === 'over' ? phase : `${phase} ${execution} ${attempt} ${to}`))
  return [
    `${clock} ${left.starts} ${left.crashes} ${left.resends} ${left.renewals} ${acknowledged}`,
    kept && `${kept.status} ${kept.attempt} ${kept.execution} ${leaseLeft(kept.leaseUntil)} ${kept.result}`,
    messages.join(),
    running.toSorted().join(),
    upstream.map(({ execution, attempt, outcome }) => `${execution} ${attempt} ${outcome}`).join(),
    granted.toSorted().join(),
  ].join('|')
}

function brokenPromises(visit: Visit, step: Step, bounds: Bounds): string[] {
  return [...(step.store === undefined ? [] : brokenByStore(visit, step.state, step.store)), ...brokenBySending(visit, step, bounds)]
}

const NEXT: Readonly<Record<string, readonly string[]>> = {
  processing: ['processing', 'completed', 'failed', 'unknown'],
  unknown: ['unknown', 'completed', 'failed'],
  failed: ['failed'],
  completed: ['completed'],
}

function brokenByStore(visit: Visit, state: State, { before, after, reply }: NonNullable<Step['store']>): string[] {
  const broken: string[] = []
  if (before !== undefined && !drawn(before, after, reply.verb === 'acquire' && reply.execution === before.executionId)) {
    broken.push(`${before.status} (${before.attempt}) became ${after?.status} (${after?.attempt}), which is not drawn`)
  }
  if (reply.result === 'stale' && JSON.stringify(facts(before)) !== JSON.stringify(facts(after)))
    broken.push('a refused verb changed the record')
  if (after?.status === 'completed') {
    const acted = state.upstream.find(({ execution }) => execution === after.executionId)
    if (acted?.outcome !== 'completed') broken.push('completed, and its execution was not')
    if (after.response?.bodyHash !== after.executionId) broken.push("completed with another execution's result")
  }
  if (visit.acknowledged !== undefined && (after?.status !== 'completed' || after.executionId !== visit.acknowledged)) {
    broken.push('an acknowledged result is gone')
  }
  if (reply.verb === 'acquire' && reply.result === 'acquired') broken.push(...brokenByGrant(visit, state, reply))
  return broken
}

function brokenByGrant(visit: Visit, { clock }: State, { execution, attempt }: NonNullable<Step['store']>['reply']): string[] {
  const broken: string[] = []
  for (const [other, grant] of Object.entries(visit.grants)) {
    if (other === execution) {
      // A copy of its acquire that comes after yet another execution is beyond the record's memory, and claims for nobody.
      const latest = Object.values(visit.grants).every((one) => one.attempt <= grant.attempt)
      if (latest && grant.attempt !== attempt) broken.push(`${execution} was granted twice, with different attempts`)
      continue
    }
    if (attempt <= grant.attempt) broken.push(`attempt ${attempt} was granted after attempt ${grant.attempt}`)
    if (!grant.settled && grant.leaseUntil > clock) broken.push(`${execution} was granted while ${other} held its lease`)
  }
  return broken
}

/** An execution that was overtaken while it stood still before its sending is what the attempt is for: the upstream can refuse it. */
function brokenBySending(visit: Visit, { state }: Step, { onUnknown }: Bounds): string[] {
  const sent = state.upstream.length > visit.state.upstream.length ? state.upstream.at(-1) : undefined
  if (sent === undefined) return []
  const broken: string[] = []
  const latest = Object.values(visit.grants).every(({ attempt }) => attempt <= sent.attempt)
  for (const earlier of visit.state.upstream) {
    if (earlier.execution === sent.execution) broken.push('one execution was sent twice')
    if (earlier.attempt === sent.attempt) broken.push('one attempt was sent twice')
    if (onUnknown === 'refuse' && earlier.outcome !== 'failed') broken.push('sent after one that may have acted')
    if (latest && earlier.outcome === 'running' && visit.grants[earlier.execution]!.leaseUntil > state.clock) {
      broken.push('sent while another that held its lease was running')
    }
  }
  if (latest && visit.acknowledged !== undefined) broken.push('sent after an acknowledged result')
  return broken
}

function drawn(before: RecordView, after: RecordView | undefined, echo: boolean): boolean {
  if (after === undefined || after.attempt < before.attempt) return false
  if (after.attempt > before.attempt) return before.status === 'failed' || before.status === 'unknown'
  // Its own acquire, sent twice: nobody else was let in, and it has not begun.
  if (echo && before.status === 'unknown' && after.status === 'processing') return true
  return after.executionId === before.executionId && NEXT[before.status]!.includes(after.status)
}

function facts(record: RecordView | undefined) {
  return record && [record.status, record.attempt, record.executionId, record.leaseLeft, record.response]
}
