// The named parts of a fingerprint: compiled from the file's short and long forms, then read from a request.
import type { PartSetting } from '../config/schema.ts'
import { constant, encodeList, type CanonicalValue } from './canonical.ts'
import { readClientKey } from './client-key.ts'
import { Refusal } from './refusal.ts'
import type { RequestContext } from './request-context.ts'
import type { CompiledSelector } from './select.ts'
import { compileSource, compileSources, type Source, type Sources } from './sources.ts'
import { compileNeighbours, compileSteps } from './steps/compile-steps.ts'
import type { Steps } from './steps/step.ts'
import { asText } from './steps/text-steps.ts'
import type { StepTools } from './steps/tools.ts'
import type { Watch } from './watch.ts'

/** The part with this name is the client's own idempotency key. */
export const KEY_PART = 'key'

export interface CompiledPart {
  readonly name: string
  /** The first that is present wins; empty for a constant. Those below `minTrust` are not among them. */
  readonly sources: readonly Source[]
  readonly dropped: readonly Source[]
  readonly minTrust: number
  /** All that the sources read. */
  readonly selectors: readonly CompiledSelector[]
  /** Brings what a selector found into the form that counts; undefined: as it is. */
  readonly steps: Steps | undefined
  /** The same for the further names of a part with a window. */
  readonly neighbours: readonly Steps[]
  readonly optional: boolean
  /** Canonical form of what stands in where nothing is present: the constant or the default. */
  readonly fallback: string | undefined
}

export interface PartValue {
  /** Undefined: left out. */
  readonly canonical: string | undefined
  /** Canonical forms of the window's halves beside, where the part has one. */
  readonly neighbours?: readonly string[]
  /** True only for what the request itself said. */
  readonly sent: boolean
  readonly clientKey?: string
  /** Which source was the first present. */
  readonly source?: string
}

export function compileParts(settings: Readonly<Record<string, PartSetting>>, tools?: StepTools): CompiledPart[] {
  return Object.entries(settings)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, setting]) => compilePart(name, setting, tools))
}

function compilePart(name: string, setting: PartSetting, tools: StepTools | undefined): CompiledPart {
  const bare = { name, minTrust: 0, steps: undefined, neighbours: [], optional: false, fallback: undefined }
  if (typeof setting === 'string') return { ...bare, ...reading({ sources: [compileSource(setting)], dropped: [] }) }
  if ('value' in setting) return { ...bare, ...reading({ sources: [], dropped: [] }), fallback: encodeList([constant(setting.value)]) }
  return {
    name,
    minTrust: setting.minTrust ?? 0,
    ...reading(compileSources(setting.from, setting.minTrust)),
    steps: compileSteps(setting.apply, tools),
    neighbours: compileNeighbours(setting.apply, tools),
    optional: setting.optional,
    fallback: setting.default === undefined ? undefined : encodeList([constant(setting.default)]),
  }
}

function reading({ sources, dropped }: Sources): Pick<CompiledPart, 'sources' | 'dropped' | 'selectors'> {
  return { sources, dropped, selectors: sources.flatMap(({ selectors }) => selectors) }
}

/** What the request says for this part; undefined where a required part is missing. */
export function readPart(part: CompiledPart, context: RequestContext, watch?: Watch): PartValue | undefined {
  if (watch !== undefined) {
    for (const source of part.dropped) watch.dropped(part.name, source, `its trust of ${source.trust} is below minTrust ${part.minTrust}`)
  }
  for (const source of part.sources) {
    const values = source.select(context)
    watch?.source(part.name, source, values)
    if (values.length === 0) continue
    const found = { values, source: source.text, context, watch }
    const value = part.name === KEY_PART ? readKey(part, found) : readValues(part, found)
    if (value !== undefined) return value
  }
  if (part.fallback !== undefined) return { canonical: part.fallback, sent: false }
  return part.optional ? { canonical: undefined, sent: false } : undefined
}

/** What one source says. */
interface Found {
  readonly values: readonly CanonicalValue[]
  readonly source: string
  readonly context: RequestContext
  readonly watch: Watch | undefined
}

/** Undefined where the steps leave nothing: the next source may stand in. */
function readValues(part: CompiledPart, { values, source, context, watch }: Found): PartValue | undefined {
  const { steps } = part
  const counted = steps === undefined ? values : steps(values, context.request, watch)
  if (counted.length === 0) return undefined
  return { canonical: encodeList(counted), neighbours: readNeighbours(part, values, context), sent: true, clientKey: undefined, source }
}

function readNeighbours(
  { neighbours }: CompiledPart,
  values: readonly CanonicalValue[],
  { request }: RequestContext,
): readonly string[] | undefined {
  return neighbours.length === 0 ? undefined : neighbours.map((steps) => encodeList(steps(values, request)))
}

/** The key is checked as it was sent; the steps then see it without the quotes of its header. */
function readKey(part: CompiledPart, { values, source, context, watch }: Found): PartValue | undefined {
  const { steps } = part
  const sent = readClientKey(values, source)
  // A header's quotes are spelling; a number stays apart from the text with its digits.
  const read = typeof values[0] === 'string' ? [sent] : values
  const counted = steps === undefined ? read : steps(read, context.request, watch)
  const [key] = counted
  if (key === undefined) return undefined
  // All spellings of one key are one key to the upstream too.
  const clientKey = steps === undefined ? sent : (asText(key) ?? sent)
  return { canonical: encodeList(counted), neighbours: readNeighbours(part, read, context), sent: true, clientKey, source }
}

export function missing(part: CompiledPart): Refusal {
  const wanted = part.sources.map(({ text }) => text).join(' or ')
  if (part.name === KEY_PART) return new Refusal('key-missing', `This operation needs an idempotency key: send ${wanted}.`)
  return new Refusal('field-missing', `The part "${part.name}" of the fingerprint is missing: send ${wanted}.`)
}
