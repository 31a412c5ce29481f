// What a chaos run plays in: gateways on one store, and the faults that can befall them.
import type { CountingUpstream } from './counting-upstream.ts'
import type { Recorder } from './recorder.ts'
import type { FaultKind, PlannedFault } from './schedule.ts'

export interface ChaosGateway {
  /** Where it listens now. */
  readonly url: string
  /** False while it is known to be dead: whoever balances the load looks elsewhere. */
  readonly up: boolean
}

export interface Scene {
  readonly gateways: readonly ChaosGateway[]
  /** Injects the fault, and resolves when it is healed. */
  inject(fault: PlannedFault): Promise<void>
  close(): Promise<void>
}

export interface Stage {
  readonly gateways: number
  readonly upstream: CountingUpstream
  readonly recorder: Recorder
}

/** A store under test: a new one is an entry of the table in stores.ts. */
export interface ChaosStore {
  readonly faultKinds: readonly FaultKind[]
  open(stage: Stage): Promise<Scene>
}

/** What befalls any gateway, whatever its store is. `stop` is longer than a lease. */
export const GATEWAY_FAULTS: readonly FaultKind[] = [
  { kind: 'kill', scope: 'gateway', weight: 2, ms: [50, 800] },
  { kind: 'stop', scope: 'gateway', weight: 3, ms: [1700, 3000] },
  { kind: 'upstream-gone', scope: 'gateway', weight: 1, ms: [100, 800] },
]
