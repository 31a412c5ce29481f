// Joins the answer of a running execution, from its first byte, as soon as there is one to join.
import { isInFlight, type RecordView } from '../model/record.ts'
import type { AnswerHead } from '../model/stored-response.ts'
import type { ExecutionName } from '../stores/store.ts'
import type { FollowedAnswer } from './answer.ts'
import { Bell } from './bell.ts'
import type { Gate } from './gate.ts'
import type { InFlight, Turn } from './turn.ts'
import { LOOK_AGAIN_MS, type Waiter } from './wait.ts'

export type Joined = Turn | { readonly kind: 'joined'; readonly answer: FollowedAnswer }

/**
 * Waits for the head of the answer. An execution that ends without one to join (a small answer, a failure) is decided by
 * acquiring anew, as for everybody who waits; `in_flight` where the limit or the client ended the waiting.
 */
export async function attach(gate: Gate, first: InFlight, waiter: Waiter, acquire: () => Promise<Turn>): Promise<Joined> {
  const end = performance.now() + waiter.limitMs
  let claim: Turn = first
  while (claim.kind === 'in_flight') {
    const found = await waitForHead(gate, nameOf(claim.record), { ...waiter, limitMs: end - performance.now() })
    if (found === 'limit') return claim
    if (found !== 'settled') return { kind: 'joined', answer: found }
    claim = await acquire()
    if (performance.now() >= end) break
  }
  return claim
}

/** The answer as soon as there is one to join; `settled`: the execution has ended; `limit`: the waiting has. */
export async function waitForHead(gate: Gate, name: ExecutionName, waiter: Waiter): Promise<FollowedAnswer | 'settled' | 'limit'> {
  const { store, answers } = gate
  const end = performance.now() + waiter.limitMs
  const bell = new Bell()
  waiter.onGone(() => bell.ring())
  // Watching begins before the first look: what happens in between rings the bell.
  const unwatch = await store.watch(name.fingerprint, () => bell.ring())
  try {
    for (;;) {
      const here = answers.get(name.executionId)
      if (here !== undefined) return { ...name, store, live: here, head: here.head }
      const reading = await store.readLog({ ...name, offset: 0, maxBytes: 1 })
      if (reading.kind === 'open' && reading.head !== undefined) return joinAt(gate, name, reading.head)
      // An answer over its limit cannot be joined; its end can be waited for.
      const runsOn = reading.kind === 'open' || (reading.kind === 'gone' && runs(reading.record, name))
      if (!runsOn) return 'settled'
      const left = end - performance.now()
      if (left <= 0 || waiter.gone()) return 'limit'
      const leaseLeft = reading.kind === 'open' ? reading.leaseLeft + 1 : LOOK_AGAIN_MS
      await bell.wait(Math.min(left, leaseLeft, LOOK_AGAIN_MS))
    }
  } finally {
    unwatch()
  }
}

function joinAt(gate: Gate, name: ExecutionName, head: AnswerHead): FollowedAnswer {
  return { ...name, store: gate.store, live: gate.answers.join(name, head), head }
}

function runs(record: RecordView | undefined, { executionId }: ExecutionName): boolean {
  return record !== undefined && isInFlight(record.status) && record.executionId === executionId
}

function nameOf({ fingerprint, executionId }: RecordView): ExecutionName {
  return { fingerprint, executionId }
}
