// The YAML text as values, with the line and column of each: syntax, variables, places.
import { LineCounter, isScalar, parseDocument, visit, type Alias, type Document, type Scalar } from 'yaml'
import { showPlace, type Finding, type Mistake, type Place } from './mistakes.ts'
import { nodeAt, offsetOf } from './yaml-places.ts'
import { expandVariables, type Environment } from './variables.ts'

export interface YamlSource {
  /** Of syntax and of variables. */
  readonly mistakes: readonly Mistake[]
  /** Nothing past the syntax is worth a look. */
  readonly broken: boolean
  /** The document as plain values. */
  read(): unknown
  locate(finding: Finding): Mistake
  /** Takes a variable's value at this place as text where it was taken as number or so, or the reverse; false: nothing to try. */
  readOtherwise(place: Place): boolean
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
  for (const error of [...document.errors, ...document.warnings]) {
    mistakes.push(mistakeAt(error.pos[0], '', plain(error.code, error.message), HINTS[error.code]))
  }
  const otherReadings = new Map<Scalar, unknown>()
  if (mistakes.length === 0) {
    expandScalars(document, env, otherReadings, (node, message, hint) => mistakes.push(mistakeAt(node.range?.[0] ?? 0, '', message, hint)))
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
    readOtherwise: (place) => {
      const node = nodeAt(document, place)
      if (!isScalar(node) || !otherReadings.has(node)) return false
      node.value = otherReadings.get(node)
      return otherReadings.delete(node)
    },
  }
}

/** For the mistakes that YAML makes easy. */
const HINTS: Readonly<Record<string, string>> = {
  BLOCK_AS_IMPLICIT_KEY: 'a text that ends with a colon or holds ": " needs quotes',
  UNEXPECTED_TOKEN: 'a text that starts with one of [ { * & ! | > % @ ` needs quotes, and so does ${NAME} between { and }',
  TAB_AS_INDENT: 'indent with spaces',
}

function plain(code: string, message: string): string {
  return code === 'DUPLICATE_KEY' ? 'this key stands here twice' : `not valid YAML: ${message.charAt(0).toLowerCase()}${message.slice(1)}`
}

/** Variables are read after the parsing: whatever they hold, they cannot change the structure. */
function expandScalars(
  document: Document,
  env: Environment,
  otherReadings: Map<Scalar, unknown>,
  report: (node: Scalar, message: string, hint: string) => void,
): void {
  visit(document, {
    Scalar(key, node) {
      if (key === 'key' || typeof node.value !== 'string') return
      const expanded = expandVariables(node.value, env)
      if (expanded === undefined) return
      for (const { message, hint } of expanded.problems) report(node, message, hint)
      node.value = expanded.text
      if (!expanded.whole || expanded.problems.length > 0) return
      const [text, typed] = [expanded.text, retyped(document, expanded.text)]
      // Quotes ask for a text, but between { and } a variable cannot do without them.
      node.value = node.type === 'PLAIN' ? typed : text
      if (typed !== text) otherReadings.set(node, node.type === 'PLAIN' ? text : typed)
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
    const aliases: Alias[] = []
    visit(document, { Alias: (_, node) => void aliases.push(node) })
    const guilty = aliases.find((alias) => alias.resolve(document) === undefined) ?? aliases[0]
    report(guilty?.range?.[0] ?? 0, `not valid YAML: ${error instanceof Error ? error.message : String(error)}`)
    return false
  }
}
