// The YAML text as values, with the line and column of each: syntax, variables, places.
import { LineCounter, isAlias, isMap, isPair, isScalar, isSeq, parseDocument, visit, type Document, type Node, type Scalar } from 'yaml'
import { showPlace, type Finding, type Mistake, type Place } from './mistakes.ts'
import { expandVariables, type Environment } from './variables.ts'

export interface YamlSource {
  /** Of syntax and of variables. */
  readonly mistakes: readonly Mistake[]
  /** Nothing past the syntax is worth a look. */
  readonly broken: boolean
  /** The document as plain values. */
  read(): unknown
  locate(finding: Finding): Mistake
  /** Reads a variable's value at this place as text from now on, though YAML would make a number of it; false: it is none. */
  keepText(place: Place): boolean
}

/** How many times an alias may be followed in total, so that a small file cannot become a huge value. */
const MAX_ALIASES = 100

export function readYaml(text: string, file: string | undefined, env: Environment): YamlSource {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, merge: true, stringKeys: true, version: '1.2' })
  const mistakes: Mistake[] = []
  const mistakeAt = (offset: number, path: string, message: string, hint?: string): Mistake => {
    const { line, col } = lines.linePos(offset)
    return { file, line: Math.max(line, 1), column: Math.max(col, 1), path, message, hint }
  }
  for (const error of [...document.errors, ...document.warnings])
    mistakes.push(mistakeAt(error.pos[0], '', plain(error.code, error.message)))
  const texts = new Map<Scalar, string>()
  if (mistakes.length === 0) {
    expandScalars(document, env, texts, (node, message, hint) => mistakes.push(mistakeAt(node.range?.[0] ?? 0, '', message, hint)))
  }
  const broken =
    document.errors.length > 0 ||
    document.warnings.length > 0 ||
    !aliasesAreFew(document, (offset, message) => mistakes.push(mistakeAt(offset, '', message)))
  return {
    mistakes,
    broken,
    read: () => (document.toJS({ maxAliasCount: MAX_ALIASES }) as unknown) ?? {},
    locate: ({ place, at, message, hint }) => mistakeAt(offsetOf(document, place, at), showPlace(place), message, hint),
    keepText: (place) => {
      const node = nodeAt(document, place)
      const kept = isScalar(node) ? texts.get(node) : undefined
      if (kept === undefined || !isScalar(node) || node.value === kept) return false
      node.value = kept
      return true
    },
  }
}

function plain(code: string, message: string): string {
  return code === 'DUPLICATE_KEY' ? 'this key stands here twice' : `not valid YAML: ${message.charAt(0).toLowerCase()}${message.slice(1)}`
}

/** Variables are read after the parsing: whatever they hold, they cannot change the structure. */
function expandScalars(
  document: Document,
  env: Environment,
  texts: Map<Scalar, string>,
  report: (node: Scalar, message: string, hint: string) => void,
): void {
  visit(document, {
    Scalar(key, node) {
      if (key === 'key' || typeof node.value !== 'string') return
      const expanded = expandVariables(node.value, env)
      if (expanded === undefined) return
      for (const { message, hint } of expanded.problems) report(node, message, hint)
      node.value = expanded.text
      if (!expanded.whole || node.type !== 'PLAIN' || expanded.problems.length > 0) return
      node.value = retyped(document, expanded.text)
      texts.set(node, expanded.text)
    },
  })
}

/** The value that YAML would read from this text, were it written in the file. */
function retyped(document: Document, text: string): unknown {
  for (const tag of document.schema.tags) {
    if (tag.collection !== undefined || tag.default !== true || tag.test === undefined || !tag.test.test(text)) continue
    const value = tag.resolve(text, () => undefined, {})
    return isScalar(value) ? value.value : value
  }
  return text
}

function aliasesAreFew(document: Document, report: (offset: number, message: string) => void): boolean {
  try {
    document.toJS({ maxAliasCount: MAX_ALIASES })
    return true
  } catch (error) {
    let first = 0
    visit(document, {
      Alias(_, node) {
        first = node.range?.[0] ?? 0
        return visit.BREAK
      },
    })
    report(first, `not valid YAML: ${error instanceof Error ? error.message : String(error)}`)
    return false
  }
}

/** The offset of the place, or of the nearest thing around it that is there. */
function offsetOf(document: Document, place: Place, at: 'key' | 'value'): number {
  for (let depth = place.length; depth >= 0; depth--) {
    const here = place.slice(0, depth)
    const node = at === 'key' && depth === place.length ? keyAt(document, here) : nodeAt(document, here)
    if (node?.range) return node.range[0]
  }
  return 0
}

function nodeAt(document: Document, place: Place): Node | undefined {
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
  const keyOf = (pair: { key: unknown }): unknown => (isScalar(pair.key) ? pair.key.value : pair.key)
  const own = pairs.find((pair) => keyOf(pair) === String(key))
  if (own !== undefined) return own
  for (const pair of pairs.filter((pair) => isMergeKey(keyOf(pair)))) {
    const merged = isSeq(pair.value) ? pair.value.items : [pair.value]
    for (const item of merged) {
      const found = pairOf(document, isAlias(item) ? item.resolve(document) : item, key)
      if (found !== undefined) return found
    }
  }
  return undefined
}

function isMergeKey(key: unknown): boolean {
  return key === '<<' || (typeof key === 'symbol' && key.description === '<<')
}

function asNode(value: unknown): Node | undefined {
  return isScalar(value) || isMap(value) || isSeq(value) || isAlias(value) ? value : undefined
}
