// Waits for the turn of a fact whose group is busy: keeps its place by asking again, and leaves no trace where it gives up.
import { setTimeout as pause } from 'node:timers/promises'
import type { ClientStream } from './answer.ts'
import { Bell } from './bell.ts'
import type { Gate, GuardedRequest } from './gate.ts'
import type { Pending, Turn } from './turn.ts'
import { LOOK_AGAIN_MS } from './wait.ts'

export interface InLine {
  readonly request: GuardedRequest
  readonly executionId: string
  readonly client: ClientStream
  /** When the waiting is over (`performance.now()`). */
  readonly endsAt: number
}

/** What the request comes to: its turn, an answer from elsewhere, or `busy` where the limit, the client or a shutdown ended the waiting. */
export async function waitInLine(gate: Gate, first: Pending, inLine: InLine, acquire: () => Promise<Turn | Pending>): Promise<Turn> {
  const bell = new Bell()
  let over = false
  inLine.client.onGone(() => bell.ring())
  const giveUp = (): void => {
    over = true
    bell.ring()
  }
  const turn = wait(gate, first, { ...inLine, bell, over: () => over || inLine.client.gone }, acquire)
  // It has a name, so that its owner can cancel it.
  gate.live.add({ executionId: inLine.executionId, giveUp, settled: turn.then(nothing, nothing) })
  return turn
}

interface Waiting extends InLine {
  readonly bell: Bell
  readonly over: () => boolean
}

async function wait(gate: Gate, first: Pending, waiting: Waiting, acquire: () => Promise<Turn | Pending>): Promise<Turn> {
  const { bell, over, endsAt } = waiting
  const { fingerprint } = first.record
  const unwatch = await gate.store.watch(fingerprint, () => bell.ring())
  let { heldMs } = first
  try {
    while (!over()) {
      // Watching has begun before: a turn that came in between rings the bell.
      const claim = await acquire()
      if (claim.kind === 'refused') await leave(gate, waiting, fingerprint)
      if (claim.kind !== 'pending') return claim
      heldMs = claim.heldMs
      const left = endsAt - performance.now()
      if (left <= 0) break
      // An execution whose gateway is dead rings no bell, nor does one in front that is.
      await bell.wait(Math.min(left, LOOK_AGAIN_MS, claim.record.leaseLeft / 2))
    }
  } finally {
    unwatch()
  }
  await leave(gate, waiting, fingerprint)
  return { kind: 'busy', heldMs }
}

/** The refusal is seen only when the place is gone: a retry at once does not meet itself. */
async function leave(gate: Gate, { request: { rule }, executionId }: InLine, fingerprint: string): Promise<void> {
  const left = gate.takeBacks.takeBack({ fingerprint, executionId, ttlMs: rule.ttl, keepAtLeastMs: rule.lease })
  await Promise.race([left, pause(gate.storeTimeout, undefined, { ref: false })])
}

function nothing(): void {}
