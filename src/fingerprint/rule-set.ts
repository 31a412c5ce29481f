// The rules of one version of the configuration, compiled, and what other versions of it must know of them.
import type { RuleConfig } from '../config/gateway-config.ts'
import { compileRule, type Rule } from './compile-rule.ts'
import { compileRoutes } from './route.ts'
import type { StepTools } from './steps/tools.ts'

export interface RuleSet {
  readonly rules: readonly Rule[]
  readonly routes: ReturnType<typeof compileRoutes>
  /** Equal in sets that give every request the same rule and the same names. */
  readonly derivation: string
  /** Milliseconds after its claim within which every record of these rules is gone; Infinity where one is kept for ever. */
  readonly keptMs: number
  /** Milliseconds for which a request may wait for its turn after it was identified. */
  readonly longestHoldMs: number
}

export function compileRuleSet(configs: readonly RuleConfig[], tools?: StepTools): RuleSet {
  const rules = configs.map((config) => compileRule(config, tools))
  return {
    rules,
    routes: compileRoutes(rules),
    derivation: JSON.stringify(rules.map(({ derivation, config: { match, mode } }) => [derivation, match, mode])),
    // An execution that is renewed to the end of its time, and is then remembered as one whose outcome nobody knows.
    keptMs: Math.max(0, ...configs.map(({ ttl, lease, timeout, tombstone = 0 }) => timeout + 2 * lease + ttl + tombstone)),
    longestHoldMs: Math.max(
      0,
      ...configs.map(({ inFlight, exclusive, async, timeout }) => (exclusive && async ? timeout : inFlight.maxWait)),
    ),
  }
}
