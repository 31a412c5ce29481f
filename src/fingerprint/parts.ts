// The named parts of a fingerprint: compiled from the file's short and long forms, then read from a request.
import type { PartSetting } from '../config/schema.ts'
import { constant, encodeList } from './canonical.ts'
import { readClientKey } from './client-key.ts'
import { Refusal } from './refusal.ts'
import type { RequestContext } from './request-context.ts'
import { compileSelector, type CompiledSelector } from './select.ts'

/** The part with this name is the client's own idempotency key. */
export const KEY_PART = 'key'

export interface CompiledPart {
  readonly name: string
  /** The first that is present wins; empty for a constant. */
  readonly selectors: readonly CompiledSelector[]
  readonly optional: boolean
  /** Canonical form of what stands in where nothing is present: the constant or the default. */
  readonly fallback: string | undefined
}

export interface PartValue {
  /** Undefined: left out. */
  readonly canonical: string | undefined
  /** True only for what the request itself said. */
  readonly sent: boolean
  readonly clientKey?: string
}

export function compileParts(settings: Readonly<Record<string, PartSetting>>): CompiledPart[] {
  return Object.entries(settings)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, setting]) => compilePart(name, setting))
}

function compilePart(name: string, setting: PartSetting): CompiledPart {
  if (typeof setting === 'string') return { name, selectors: [compileSelector(setting)], optional: false, fallback: undefined }
  if ('value' in setting) return { name, selectors: [], optional: false, fallback: encodeList([constant(setting.value)]) }
  const texts = typeof setting.from === 'string' ? [setting.from] : setting.from
  return {
    name,
    selectors: texts.map(compileSelector),
    optional: setting.optional,
    fallback: setting.default === undefined ? undefined : encodeList([constant(setting.default)]),
  }
}

/** What the request says for this part; undefined where a required part is missing. */
export function readPart(part: CompiledPart, context: RequestContext): PartValue | undefined {
  for (const selector of part.selectors) {
    const values = selector.select(context)
    if (values.length === 0) continue
    if (part.name !== KEY_PART) return { canonical: encodeList(values), sent: true }
    const clientKey = readClientKey(values, selector.text)
    // A header's quotes are spelling; a number stays apart from the text with its digits.
    const canonical = encodeList(typeof values[0] === 'string' ? [clientKey] : values)
    return { canonical, sent: true, clientKey }
  }
  if (part.fallback !== undefined) return { canonical: part.fallback, sent: false }
  return part.optional ? { canonical: undefined, sent: false } : undefined
}

export function missing(part: CompiledPart): Refusal {
  const wanted = part.selectors.map(({ text }) => text).join(' or ')
  if (part.name === KEY_PART) return new Refusal('key-missing', `This operation needs an idempotency key: send ${wanted}.`)
  return new Refusal('field-missing', `The part "${part.name}" of the fingerprint is missing: send ${wanted}.`)
}
