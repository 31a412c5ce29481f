// Takes members out of a body that the digest must not look at.
import { ExactNumber } from './decimal.ts'
import type { JsonValue } from './json-value.ts'
import type { BodyNode } from './select.ts'

/** Stands where an array's item was, until the array is closed up: indexes must not move before the last one is out. */
const GONE: JsonValue = []

/** Changes `root`. A node within another that is out already is out with it. */
export function pruneNodes(root: JsonValue, nodes: readonly BodyNode[]): void {
  const arrays = new Set<JsonValue[]>()
  for (const { location } of nodes) {
    const last = location.at(-1)
    const parent = location.slice(0, -1).reduce<JsonValue | undefined>(member, root)
    if (last === undefined || parent === undefined || parent === null || typeof parent !== 'object') continue
    if (parent instanceof ExactNumber) continue
    if (!Array.isArray(parent)) {
      delete parent[last]
      continue
    }
    parent[Number(last)] = GONE
    arrays.add(parent)
  }
  for (const array of arrays) {
    const kept = array.filter((item) => item !== GONE)
    // Not by spreading: a long array would overflow the stack.
    for (let n = 0; n < kept.length; n++) array[n] = kept[n]!
    array.length = kept.length
  }
}

function member(value: JsonValue | undefined, step: string | number): JsonValue | undefined {
  if (value === undefined || value === null || typeof value !== 'object' || value instanceof ExactNumber) return undefined
  return Array.isArray(value) ? value[Number(step)] : value[step]
}
