// Steps on lists and objects: order, repeats, members.
import { compileJsonPath } from '../../config/selectors.ts'
import { memberJsonPath } from '../../config/step-schema.ts'
import { encode, isList, type CanonicalValue } from '../canonical.ts'
import { ExactNumber } from '../decimal.ts'
import { pruneNodes } from '../digest-ignore.ts'
import { Members, type JsonObject, type JsonValue } from '../json-value.ts'
import { compileNodes } from '../select.ts'
import { onEach, type Step } from './step.ts'

/** Several values, or the items of the one list that was found, without their order. */
export const sort: Step = (values) => onItems(values, (items) => sorted(items).map(([, item]) => item))

/** As `sort`, and nothing counts twice. */
export const set: Step = (values) => onItems(values, (items) => [...new Map(sorted(items)).values()])

function onItems(
  values: readonly CanonicalValue[],
  arrange: (items: readonly CanonicalValue[]) => CanonicalValue[],
): readonly CanonicalValue[] {
  const [only] = values
  return values.length === 1 && only !== undefined && isList(only) ? [arrange(only)] : arrange(values)
}

function sorted(items: readonly CanonicalValue[]): [string, CanonicalValue][] {
  return items.map((item): [string, CanonicalValue] => [encode(item), item]).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
}

/** An object of the paths and what they found; nothing found at all: missing. */
export function pick(paths: readonly string[]): Step {
  const compiled = paths.map((path) => ({ path, nodes: compileNodes(compileJsonPath(memberJsonPath(path))) }))
  return onEach((value) => {
    if (!hasMembers(value)) return undefined
    const picked: JsonObject = new Members()
    for (const { path, nodes } of compiled) {
      const found = nodes(value)
      if (found.length > 0) picked[path] = found.map((node) => node.value)
    }
    return Object.keys(picked).length === 0 ? undefined : picked
  })
}

/** Values without members stay as they are. */
export function omit(paths: readonly string[]): Step {
  const compiled = paths.map((path) => compileNodes(compileJsonPath(memberJsonPath(path))))
  return onEach((value) => {
    if (!hasMembers(value)) return value
    // The request's other parts read the same value.
    const copy = copied(value)
    pruneNodes(
      copy,
      compiled.flatMap((nodes) => nodes(copy)),
    )
    return copy
  })
}

function hasMembers(value: CanonicalValue): value is JsonObject | JsonValue[] {
  return value !== null && typeof value === 'object' && !(value instanceof ExactNumber) && !(value instanceof Uint8Array)
}

function copied(value: JsonValue): JsonValue {
  if (value === null || typeof value !== 'object' || value instanceof ExactNumber) return value
  if (Array.isArray(value)) return value.map(copied)
  const copy: JsonObject = new Members()
  for (const key of Object.keys(value)) copy[key] = copied(value[key]!)
  return copy
}
