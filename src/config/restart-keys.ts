// Which settings a running gateway cannot take up.
import type { GatewayConfig } from './gateway-config.ts'

/** These are read anew by every version; whatever is not named here needs a restart. */
const LIVE: ReadonlySet<string> = new Set<keyof GatewayConfig>(['upstream', 'rules', 'jwt', 'cors', 'rollout', 'previous'])

/** The keys whose values differ and that only a start reads. */
export function needsRestart(running: GatewayConfig, next: GatewayConfig): string[] {
  const [before, after] = [running, next].map((config) => new Map(Object.entries(config)))
  const keys = new Set([...before!.keys(), ...after!.keys()])
  return [...keys].filter((key) => !LIVE.has(key) && JSON.stringify(before!.get(key)) !== JSON.stringify(after!.get(key)))
}
