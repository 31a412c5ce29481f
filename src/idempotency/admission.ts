// The acquire of a rule with limits: what needs no execution is answered, and a claim is used or given back at once.
import { setTimeout as pause } from 'node:timers/promises'
import type { RecordView } from '../model/record.ts'
import type { AcquireRequest, Claim } from '../stores/store.ts'
import type { Gate, GuardedRequest } from './gate.ts'
import type { RuleLimits } from './limits.ts'
import type { Pending, Turn } from './turn.ts'

type OnCompleted = AcquireRequest['onCompleted']

export interface Acquiring {
  readonly executionId: string
  readonly onCompleted: OnCompleted
  readonly acquire: (onCompleted: OnCompleted) => Promise<Claim>
}

/** One round trip, as without limits, while nothing is refused. */
export async function acquireWithin(
  limits: RuleLimits,
  gate: Gate,
  request: GuardedRequest,
  acquiring: Acquiring,
): Promise<Turn | Pending> {
  const { onCompleted, executionId } = acquiring
  const owner = request.operation.countedFor
  const refusal = limits.refusal(owner)
  if (refusal !== undefined && !(await isAnswered(gate, request, onCompleted))) return refused(request, refusal)
  // A new generation puts an end to the stored result: its place is taken before, so that it need not be given back.
  const claim = await acquiring.acquire('replay')
  if (claim.kind === 'acquired') return admit(gate, request, { limits, claim, executionId })
  if (claim.kind !== 'completed' || onCompleted === 'replay') return claim
  const pass = limits.enter(owner)
  if (!('leave' in pass)) return refused(request, pass)
  try {
    const next = await acquiring.acquire('execute')
    if (next.kind === 'acquired') return { ...next, pass }
    pass.leave('cancelled')
    return next
  } catch (error) {
    pass.leave('cancelled')
    throw error
  }
}

interface Granted {
  readonly limits: RuleLimits
  readonly claim: Extract<Claim, { kind: 'acquired' }>
  readonly executionId: string
}

/** Others may have come first since the limits were asked. */
async function admit(gate: Gate, request: GuardedRequest, { limits, claim, executionId }: Granted): Promise<Turn> {
  const pass = limits.enter(request.operation.countedFor)
  if ('leave' in pass) return { ...claim, pass }
  const { ttl, lease } = request.rule
  const given = gate.takeBacks.takeBack({ fingerprint: claim.fingerprint, executionId, ttlMs: ttl, keepAtLeastMs: lease })
  gate.live.add({ giveUp: nothing, settled: given })
  // The refusal is seen only when the claim is gone: a retry at once meets no execution.
  await Promise.race([given, pause(gate.storeTimeout, undefined, { ref: false })])
  return refused(request, pass)
}

function refused({ operation }: GuardedRequest, problem: Extract<Turn, { kind: 'refused' }>['problem']): Turn {
  return { kind: 'refused', problem: { ...problem, fingerprint: operation.fingerprint } }
}

/** Whether a record is there that answers the request without an execution. */
async function isAnswered({ store }: Gate, { rule, operation }: GuardedRequest, onCompleted: OnCompleted): Promise<boolean> {
  const answers = ({ status, response }: RecordView): boolean => {
    switch (status) {
      case 'pending':
      case 'processing':
        return true
      case 'completed':
      case 'expired':
        return onCompleted === 'replay'
      case 'failed':
        return rule.onFailed === 'replay' && response !== undefined
      case 'unknown':
        return rule.onUnknown !== 'retry'
    }
  }
  for (const fingerprint of [operation.fingerprint, ...(operation.aliases ?? [])]) {
    const record = await store.read(fingerprint)
    if (record !== undefined && answers(record)) return true
  }
  return false
}

function nothing(): void {}
