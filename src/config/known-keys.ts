// Which keys may stand where, read from the JSON Schema: for "did you mean" and "belongs in".
import { didYouMean } from './did-you-mean.ts'
import { configJsonSchema, type JsonSchema } from './json-schema.ts'
import type { Place } from './mistakes.ts'
import { asList, asMapping, isMapping } from './plain-values.ts'

/** The keys that a mapping at this place may have. */
export function keysAt(place: Place): string[] {
  let here: JsonSchema[] = withBranches(configJsonSchema())
  for (const step of place) here = here.flatMap((schema) => childrenOf(schema, step)).flatMap(withBranches)
  return here.flatMap((schema) => Object.keys(objectIn(schema, 'properties') ?? {}))
}

/** Advice for a key that nothing knows at this place. */
export function adviceForKey(place: Place, key: string): string | undefined {
  const near = didYouMean(key, keysAt(place))
  const homes = [...new Set(homesOf(key, configJsonSchema(), ''))]
  // The very word at another level is a better guess than another word at this one.
  if (homes.length === 0 || near?.toLowerCase() === `did you mean "${key.toLowerCase()}"?`) return near
  return `"${key}" belongs ${homes.map((home) => (home === '' ? 'at the top of the file' : `in ${home}`)).join(' or ')}`
}

function homesOf(key: string, schema: JsonSchema, place: string): string[] {
  return withBranches(schema).flatMap((branch) => {
    const properties = objectIn(branch, 'properties') ?? {}
    const below = Object.entries(properties).flatMap(([name, child]) =>
      homesOf(key, asMapping(child), place === '' ? name : `${place}.${name}`),
    )
    const items = objectIn(branch, 'items')
    const inside = items === undefined ? [] : homesOf(key, items, `${place}[]`)
    const rest = objectIn(branch, 'additionalProperties')
    const parts = rest === undefined ? [] : homesOf(key, rest, `${place}.<part>`)
    return [...(Object.hasOwn(properties, key) ? [place] : []), ...below, ...inside, ...parts]
  })
}

function childrenOf(schema: JsonSchema, step: string | number): JsonSchema[] {
  const child =
    typeof step === 'number' ? objectIn(schema, 'items') : (propertyOf(schema, step) ?? objectIn(schema, 'additionalProperties'))
  return child === undefined ? [] : [child]
}

function propertyOf(schema: JsonSchema, name: string): JsonSchema | undefined {
  const properties = objectIn(schema, 'properties')
  return properties !== undefined && Object.hasOwn(properties, name) ? asMapping(properties[name]) : undefined
}

function withBranches(schema: JsonSchema): JsonSchema[] {
  const branches = asList(schema['anyOf'])
  return [schema, ...branches.flatMap((branch) => withBranches(asMapping(branch)))]
}

function objectIn(schema: JsonSchema, key: string): JsonSchema | undefined {
  const found = schema[key]
  return isMapping(found) ? found : undefined
}
