// What must also agree when a fingerprint comes again: one keyed hash over all of it, and a short one per field to name what differs.
import type { Operation } from '../model/operation.ts'
import { encode, encodeString, type CanonicalValue } from './canonical.ts'
import { MAX_FIELDS, encodeField, splitFields, type Field } from './digest-fields.ts'
import { pruneNodes } from './digest-ignore.ts'
import { pointerStep } from './json-value.ts'
import { keyedHash, type FingerprintKeys } from './keys.ts'
import { sortedGroups } from './query.ts'
import type { RequestContext } from './request-context.ts'
import { compileBodyPath, compileSelector, wholeBody, type BodyNode, type CompiledSelector } from './select.ts'

interface DigestItem {
  /** Its selector, as the digest's text begins with it. */
  readonly head: string
  readonly read: (context: RequestContext) => readonly Labelled[]
}

/** A field, and what of the digest's text goes before it: a query parameter's name. */
type Labelled = readonly [label: string, field: Field]

export interface CompiledDigest {
  readonly selectors: readonly CompiledSelector[]
  readonly items: readonly DigestItem[]
  readonly ignoredNodes: readonly ((context: RequestContext) => readonly BodyNode[])[]
}

const VERSION = 'd1:'
const NO_FIELDS: readonly Labelled[] = []
/** 192 bits. */
const DIGEST_CHARS = 32

/** Undefined where nothing is left to compare. */
export function compileDigest(texts: readonly string[], ignore: readonly string[]): CompiledDigest | undefined {
  const ignored = ignore.map(compileSelector)
  const ignoredTexts = new Set(ignored.map(whole))
  const ignoredNames = new Set(
    ignored.flatMap(({ selector }) => (selector.source === 'query' && selector.name !== undefined ? [selector.name] : [])),
  )
  const selectors = [...new Set(texts)]
    .toSorted()
    .map(compileSelector)
    .filter((each) => !isIgnored(each, ignoredTexts))
  if (selectors.length === 0) return undefined
  const items = selectors.map((selector) => ({ head: encodeString(selector.text), read: fieldReader(selector, ignoredNames) }))
  const ignoredNodes = ignored.flatMap(({ selector }) =>
    selector.source === 'body' && selector.path !== undefined ? [compileBodyPath(selector.path)] : [],
  )
  return { selectors, items, ignoredNodes }
}

function whole({ text, selector }: CompiledSelector): string {
  return (selector.source === 'body' && selector.path === undefined) || (selector.source === 'query' && selector.name === undefined)
    ? selector.source
    : text
}

function isIgnored({ text, selector }: CompiledSelector, ignored: ReadonlySet<string>): boolean {
  return ignored.has(text) || ((selector.source === 'body' || selector.source === 'query') && ignored.has(selector.source))
}

function fieldReader({ text, selector, select }: CompiledSelector, ignoredNames: ReadonlySet<string>): DigestItem['read'] {
  if (selector.source === 'query' && selector.name === undefined) return (context) => queryFields(context, ignoredNames)
  if (selector.source !== 'body') return (context) => listField(text, select(context))
  if (selector.path === undefined) return (context) => wholeBody(context).map((value) => ['', { name: '', value, open: true }])
  const nodes = compileBodyPath(selector.path)
  return (context) => {
    const found = nodes(context)
    if (found.length > MAX_FIELDS) return listField(text, select(context))
    return found.map(({ value, location }) => ['', { name: location.map(pointerStep).join(''), value, open: true }])
  }
}

function queryFields(context: RequestContext, ignoredNames: ReadonlySet<string>): readonly Labelled[] {
  const query = context.query()
  if (query.size === 0) return NO_FIELDS
  const groups = sortedGroups(query).filter(({ name }) => typeof name !== 'string' || !ignoredNames.has(name))
  const fields = groups.map(({ name, values }): Labelled => {
    const shown = typeof name === 'string' ? `query.${name}` : 'query'
    return [encode(name), { name: shown, value: values, open: false }]
  })
  if (fields.length <= MAX_FIELDS) return fields
  return listField(
    'query',
    groups.map(({ name, values }) => [name, values]),
  )
}

function listField(name: string, values: readonly CanonicalValue[]): readonly Labelled[] {
  return values.length === 0 ? [] : [['', { name, value: values, open: false }]]
}

/** Takes the ignored members out of the context's body: whatever else reads the body must have done so. */
export function computeDigest(
  digest: CompiledDigest,
  context: RequestContext,
  keys: FingerprintKeys,
  recordKey: Buffer,
): Pick<Operation, 'digest' | 'digestFields'> {
  if (digest.ignoredNodes.length > 0 && context.hasBody && context.hasFields)
    pruneNodes(
      context.fields(),
      digest.ignoredNodes.flatMap((nodes) => nodes(context)),
    )
  const { items } = digest
  const fieldsOf = items.map(({ read }) => read(context))
  const roots: Field[] = []
  for (const fields of fieldsOf) for (const [, field] of fields) roots.push(field)
  splitFields(roots)
  const hashes = { key: keys.field, recordKey, written: '' }
  let text = `m${VERSION}${items.length}:`
  for (let n = 0; n < items.length; n++) {
    const fields = fieldsOf[n]!
    text += `${items[n]!.head}l${fields.length}:`
    for (const [label, field] of fields) text += label + encodeField(field, hashes)
  }
  return { digest: keyedHash(keys.digest, text).slice(0, DIGEST_CHARS), digestFields: hashes.written }
}
