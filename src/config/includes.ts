// `include`: other files' rules after the file's own. One document for the checks, which still know what stands in which file.
import { dirname, isAbsolute, join } from 'node:path'
import { readConfigFile, resolveFrom } from './config-files.ts'
import { lintIncluded } from './included-shape.ts'
import type { Finding, Mistake, Place } from './mistakes.ts'
import { asList, asMapping, asTexts, isMapping, valueAt, type Mapping } from './plain-values.ts'
import { overDefaults } from './rule-view.ts'
import type { Environment } from './variables.ts'
import { readYaml, type YamlSource } from './yaml-source.ts'

export interface ConfigSource extends YamlSource {
  /** By file, for the code frames. */
  readonly texts: ReadonlyMap<string | undefined, string>
  /** How many rules are the file's own; the others come from included ones. */
  readonly ownRules: number
}

interface Included {
  readonly file: string
  readonly source: YamlSource
  /** Where its rules begin among all of them. */
  first: number
}

/** What was included is looked for beside the file that says so, as all files are. */
export function withIncludes(main: YamlSource, text: string, file: string | undefined, env: Environment): ConfigSource {
  const texts = new Map<string | undefined, string>([[file, text]])
  const mistakes: Mistake[] = [...main.mistakes]
  const included: Included[] = []
  let ownRules = 0
  if (!main.broken) {
    const root = main.read()
    ownRules = asList(valueAt(root, ['rules'])).length
    let first = ownRules
    for (const [n, name] of asTexts(valueAt(root, ['include'])).entries()) {
      const path = isAbsolute(name) ? name : join(file === undefined ? '.' : dirname(file), name)
      const read = readConfigFile(path)
      if ('error' in read) {
        texts.set(path, '')
        mistakes.push(main.locate({ place: ['include', n], at: 'value', message: read.error, hint: `it is looked for at ${path}` }))
        continue
      }
      const source = readYaml(read.text, path, env)
      texts.set(path, read.text)
      mistakes.push(...source.mistakes)
      if (source.broken) continue
      included.push({ file: path, source, first })
      mistakes.push(...lintIncluded(source.read()).map((finding) => source.locate(finding)))
      first += rulesOf(source).length
    }
  }
  return { ...merged(main, included), mistakes, broken: main.broken, texts, ownRules }
}

function merged(main: YamlSource, included: readonly Included[]): Pick<YamlSource, 'read' | 'locate' | 'readOtherwise'> {
  const homeOf = (place: Place): { source: YamlSource; place: Place } => {
    const [key, n] = place
    const from = key === 'rules' && typeof n === 'number' ? included.findLast(({ first }) => n >= first) : undefined
    return from === undefined ? { source: main, place } : { source: from.source, place: placeWithin(from, place) }
  }
  return {
    read: () => {
      const root = main.read()
      const rules = included.flatMap(({ source, file }) => rulesOf(source).map((rule) => withFiles(rule, file)))
      if (!isMapping(root) || rules.length === 0) return root
      const own = root['rules']
      // What is no list is the shape check's to report.
      return own === undefined || Array.isArray(own) ? { ...root, rules: [...asList(own), ...rules] } : root
    },
    locate: (finding: Finding) => {
      const { source, place } = homeOf(finding.place)
      return source.locate({ ...finding, place })
    },
    readOtherwise: (at) => {
      const { source, place } = homeOf(at)
      return source.readOtherwise(place)
    },
  }
}

/** The rules of an included file, over its own defaults. */
function rulesOf(source: YamlSource): unknown[] {
  const root = source.read()
  const defaults = asMapping(valueAt(root, ['defaults']))
  return asList(valueAt(root, ['rules'])).map((rule) => (isMapping(rule) ? overDefaults(rule, defaults) : rule))
}

/** In the rule or, where that says nothing of it, in the file's defaults. */
function placeWithin({ source, first }: Included, [, n, ...rest]: Place): Place {
  const root = source.read()
  const inRule = ['rules', Number(n) - first, ...rest]
  const inDefaults = ['defaults', ...rest]
  return rest.length > 0 && valueAt(root, inRule) === undefined && valueAt(root, inDefaults) !== undefined ? inDefaults : inRule
}

/** Files that an included rule names are looked for beside the included file. */
function withFiles(rule: unknown, file: string): unknown {
  if (!isMapping(rule)) return rule
  const { upstream, fingerprint } = rule
  return {
    ...rule,
    ...(isMapping(upstream) && { upstream: located(upstream, 'ca', file) }),
    ...(isMapping(fingerprint) && {
      fingerprint: Object.fromEntries(Object.entries(fingerprint).map(([name, part]) => [name, withPlugins(part, file)])),
    }),
  }
}

function withPlugins(part: unknown, file: string): unknown {
  if (!isMapping(part) || !Array.isArray(part['apply'])) return part
  return { ...part, apply: asList(part['apply']).map((step) => (isMapping(step) ? located(step, 'plugin', file) : step)) }
}

function located(mapping: Mapping, key: string, file: string): Mapping {
  const name = mapping[key]
  return typeof name === 'string' && name !== '' ? { ...mapping, [key]: resolveFrom(file, name) } : mapping
}
