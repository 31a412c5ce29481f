// What of a rule enters the names of its requests: rules of equal derivation call every request the same.
import type { RuleConfig } from '../config/gateway-config.ts'
import { pluginsOf, type StepTools } from './steps/tools.ts'

/** What says which requests a rule guards, or what becomes of one that has its name already. */
const OTHER: ReadonlySet<string> = new Set<keyof RuleConfig>([
  'match',
  'upstream',
  'retryEvidence',
  'inFlight',
  'errors',
  'protocol',
  'outcome',
  'replayHeaders',
  'onFailed',
  'onUnknown',
  'onStoreError',
  'onDisconnect',
  'breaker',
  'maxInFlightPerOwner',
  'async',
  'completeOn',
  'streamIds',
  'streamError',
  'heartbeat',
  'ttl',
  'tombstone',
  'lease',
  'timeout',
  'maxBody',
  'maxResult',
  'mode',
])

/**
 * Every setting counts but those above. One that counts without need costs a second look at a request; one that is forgotten costs a
 * second execution.
 */
export function derivationOf(config: RuleConfig, tools: StepTools | undefined): string {
  const settings = Object.entries(config).filter(([name]) => !OTHER.has(name))
  return JSON.stringify([settings, pluginsOf(config).map((file) => tools?.versions.get(file) ?? '')])
}
