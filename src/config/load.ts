// From a YAML file, the environment and the flags to a frozen GatewayConfig, or to all the mistakes at once.
import { buildConfig } from './build-config.ts'
import { explainIssues } from './check-shape.ts'
import { lintFiles, readConfigFile, resolveFrom } from './config-files.ts'
import type { GatewayConfig } from './gateway-config.ts'
import { withIncludes, type ConfigSource } from './includes.ts'
import { lint } from './lint.ts'
import { ConfigError, showPlace, type Finding, type Mistake, type SourceTexts } from './mistakes.ts'
import { isMapping } from './plain-values.ts'
import { readFilesOf, type ReadFiles } from './read-files.ts'
import { configSchema, type CheckedConfig } from './schema.ts'
import type { Environment } from './variables.ts'
import { readYaml } from './yaml-source.ts'

/** What flags say over the file. */
export interface Overrides {
  /** Replaces the URL only: `ca` and the other settings of the file's upstream stay. */
  readonly upstream?: string | undefined
  readonly listen?: string | undefined
  readonly admin?: string | undefined
  readonly adminToken?: string | undefined
  readonly store?: string | undefined
}

export interface LoadOptions {
  /** Without file and text, the defaults and the built-in rule. */
  readonly file?: string | undefined
  /** The file's text, where it was read already; `file` is then only its name. */
  readonly text?: string | undefined
  readonly env: Environment
  readonly overrides?: Overrides | undefined
}

export interface LoadedConfig extends ReadFiles {
  readonly config: GatewayConfig
  /** Odd, but no reason not to start; none where `strict` is set. */
  readonly warnings: readonly Mistake[]
  /** For the code frames of the warnings. */
  readonly text: SourceTexts
}

/** Throws a ConfigError that holds every mistake. */
export function loadConfig(options: LoadOptions): LoadedConfig {
  const { file, env } = options
  const { root, checked, warnings, texts } = read(options)
  if (checked.strict && warnings.length > 0) throw new ConfigError(warnings.map(refusedByStrict), texts)
  const earlier = (checked.previous ?? []).map((name) => rulesOf(resolveFrom(file, name), options))
  const mistakes = earlier.flatMap((each) => each.mistakes)
  const text = new Map([...texts, ...earlier.flatMap((each) => [...each.texts])])
  if (mistakes.length > 0) throw new ConfigError(mistakes, text)
  const config = buildConfig(checked, root, { configFile: file, previous: earlier.map(({ rules }) => rules) })
  return { config, warnings, text, ...readFilesOf(text, config, env) }
}

/** The rules of a file as this one was before. What it says besides is over. */
function rulesOf(file: string, options: LoadOptions) {
  try {
    const { root, checked, texts } = read({ ...options, file, text: undefined })
    return { rules: buildConfig(checked, root, { configFile: file, previous: [] }).rules, texts, mistakes: [] }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const texts = typeof error.text === 'string' ? new Map([[file, '']]) : error.text
    return { rules: [], texts, mistakes: error.mistakes }
  }
}

function read({ file, text: given, env, overrides = {} }: LoadOptions) {
  const own = given ?? (file === undefined ? '' : textOf(file))
  const source = withIncludes(readYaml(own, file, env), own, file, env)
  const { texts } = source
  if (source.broken) throw new ConfigError(source.mistakes, texts)
  const { root, shape, checked } = checkShape(source, overrides)
  const sense = lint(root, source.ownRules)
  const place = (findings: readonly Finding[]): Mistake[] =>
    inOrder(findings.map((finding) => locate(finding, source, { file, given, overrides })))
  const mistakes = place([...shape, ...lintUpstream(root), ...sense.mistakes, ...lintFiles(root, file)])
  const known = source.mistakes.map(positionOf)
  const all = [...source.mistakes, ...mistakes.filter((mistake) => !known.includes(positionOf(mistake)))]
  if (all.length > 0 || checked === undefined) throw new ConfigError(inOrder(all), texts)
  return { root, checked, warnings: place(sense.warnings), texts }
}

function refusedByStrict(warning: Mistake): Mistake {
  return { ...warning, message: `${warning.message} (refused by strict: true)` }
}

function textOf(file: string): string {
  const read = readConfigFile(file)
  if ('text' in read) return read.text
  throw new ConfigError([{ file, line: undefined, column: undefined, path: '', message: read.error, hint: undefined }], '')
}

interface Shape {
  readonly root: unknown
  readonly shape: readonly Finding[]
  readonly checked: CheckedConfig | undefined
}

/** A variable's value is read as YAML would, unless that does not fit and its text does: a secret of digits stays a secret. */
function checkShape(source: ConfigSource, overrides: Overrides): Shape {
  for (;;) {
    const root = withOverrides(source.read(), overrides)
    const result = configSchema.safeParse(root)
    if (result.success) return { root, shape: [], checked: result.data }
    const shape = explainIssues(result.error.issues, root)
    const reread = shape.filter(({ place, at }) => at === 'value' && source.readOtherwise(place))
    if (reread.length === 0) return { root, shape, checked: undefined }
  }
}

function withOverrides(root: unknown, overrides: Overrides): unknown {
  if (!isMapping(root)) return root
  const { upstream, ...plain } = Object.fromEntries(Object.entries(overrides).filter(([, value]) => value !== undefined))
  if (upstream === undefined) return { ...root, ...plain }
  return { ...root, ...plain, upstream: isMapping(root['upstream']) ? { ...root['upstream'], url: upstream } : upstream }
}

function lintUpstream(root: unknown): Finding[] {
  if (!isMapping(root) || root['upstream'] !== undefined) return []
  const hint = 'say where your API listens: upstream: http://127.0.0.1:3000 in the file, or --upstream URL'
  return [{ place: ['upstream'], at: 'value', message: '"upstream" is missing', hint }]
}

function locate(
  finding: Finding,
  source: ConfigSource,
  from: { file: string | undefined; given: string | undefined; overrides: Overrides },
): Mistake {
  const [key] = finding.place
  const flagged = (['upstream', 'listen', 'admin', 'adminToken', 'store'] as const).find(
    (name) => name === key && from.overrides[name] !== undefined,
  )
  const nowhere = { line: undefined, column: undefined, path: showPlace(finding.place), message: finding.message, hint: finding.hint }
  if (flagged !== undefined) return { file: flagged === 'adminToken' ? 'ONCEGATE_ADMIN_TOKEN' : `--${flagged}`, ...nowhere }
  return from.file === undefined && from.given === undefined ? { file: undefined, ...nowhere } : source.locate(finding)
}

function positionOf({ file, line, column }: Mistake): string {
  return `${file ?? ''}:${line}:${column}`
}

/** By file and line, each once: a mistake in `defaults` or under an alias is met again in every rule that takes it. */
function inOrder(mistakes: readonly Mistake[]): Mistake[] {
  const once = new Map<string, Mistake>()
  for (const mistake of mistakes) {
    const key = `${positionOf(mistake)} ${mistake.message}`
    if (!once.has(key)) once.set(key, mistake)
  }
  const files = [...new Set(mistakes.map(({ file }) => file))]
  return [...once.values()].toSorted(
    (a, b) => files.indexOf(a.file) - files.indexOf(b.file) || (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
  )
}
