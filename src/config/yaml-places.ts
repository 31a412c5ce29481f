// Where in the text a place of the document stands, through aliases and merged mappings.
import { isAlias, isMap, isPair, isScalar, isSeq, type Document, type Node } from 'yaml'
import type { Place } from './mistakes.ts'

/** The offset of the place, or of the nearest thing around it that is there. */
export function offsetOf(document: Document, place: Place, at: 'key' | 'value'): number {
  for (let depth = place.length; depth >= 0; depth--) {
    const here = place.slice(0, depth)
    const node = at === 'key' && depth === place.length ? keyAt(document, here) : nodeAt(document, here)
    if (node?.range) return node.range[0]
  }
  return 0
}

export function nodeAt(document: Document, place: Place): Node | undefined {
  let node: unknown = document.contents
  for (const step of place) {
    if (isAlias(node)) node = node.resolve(document)
    if (isSeq(node)) node = node.items[Number(step)]
    else node = pairOf(document, node, step)?.value
  }
  return asNode(node)
}

function keyAt(document: Document, place: Place): Node | undefined {
  const last = place.at(-1)
  if (last === undefined) return undefined
  let parent: unknown = nodeAt(document, place.slice(0, -1))
  if (isAlias(parent)) parent = parent.resolve(document)
  return isSeq(parent) ? nodeAt(document, place) : asNode(pairOf(document, parent, last)?.key)
}

/** The pair itself, or one that stands in a mapping merged by `<<`. */
function pairOf(document: Document, map: unknown, key: string | number): { key: unknown; value: unknown } | undefined {
  if (!isMap(map)) return undefined
  const pairs = map.items.filter((item) => isPair(item))
  const own = pairs.find((pair) => keyOf(pair) === String(key))
  if (own !== undefined) return own
  for (const { value } of pairs.filter((pair) => isMergeKey(keyOf(pair)))) {
    for (const item of isSeq(value) ? value.items : [value]) {
      const found = pairOf(document, isAlias(item) ? item.resolve(document) : item, key)
      if (found !== undefined) return found
    }
  }
  return undefined
}

function keyOf({ key }: { key: unknown }): unknown {
  return isScalar(key) ? key.value : key
}

function isMergeKey(key: unknown): boolean {
  return key === '<<' || (typeof key === 'symbol' && key.description === '<<')
}

function asNode(value: unknown): Node | undefined {
  return isScalar(value) || isMap(value) || isSeq(value) || isAlias(value) ? value : undefined
}
