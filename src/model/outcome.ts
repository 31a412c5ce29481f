// What an upstream status means for the record: settled for good, safe to run again, or not known.
import type { SettledStatus } from './record.ts'

/** A status code (`404`) or a class of them (`4xx`). */
export type StatusPattern = number | `${1 | 2 | 3 | 4 | 5}xx`

export type OutcomePatterns = Readonly<Record<SettledStatus, readonly StatusPattern[]>>

/** The contract's defaults: a refusal that the upstream made before acting is worth another try. */
export const DEFAULT_OUTCOME: OutcomePatterns = {
  completed: ['2xx', '3xx', '4xx'],
  failed: [401, 403, 408, 409, 425, 429, '5xx'],
  unknown: [504],
}

/** A table of every status from 200 to 599, so that the hot path only looks up. */
export type OutcomeTable = (status: number) => SettledStatus

/**
 * Compiles patterns over the defaults. A single code wins over its class, and the rule's own word over the default's.
 * A status that no pattern names is `unknown`: the gateway does not guess.
 */
export function outcomeTable(patterns: Partial<OutcomePatterns> = {}): OutcomeTable {
  return statusTable(DEFAULT_OUTCOME, patterns)
}

/** The same over nothing but these patterns, of which a later one wins over an earlier. */
export function statusTable(...sources: readonly Partial<OutcomePatterns>[]): OutcomeTable {
  const table = new Map<number, SettledStatus>()
  for (const wanted of ['class', 'code'] as const) {
    for (const source of sources) {
      for (const outcome of ['completed', 'failed', 'unknown'] as const) {
        for (const pattern of source[outcome] ?? []) {
          if ((typeof pattern === 'number' ? 'code' : 'class') !== wanted) continue
          for (const status of statusesOf(pattern)) table.set(status, outcome)
        }
      }
    }
  }
  return (status) => table.get(status) ?? 'unknown'
}

function statusesOf(pattern: StatusPattern): number[] {
  if (typeof pattern === 'number') return [pattern]
  const first = Number(pattern[0]) * 100
  return Array.from({ length: 100 }, (_, n) => first + n)
}
