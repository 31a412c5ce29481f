// `alsoUnique`: further names of a fact, like a message's own id, of which each belongs to one fact of its owner alone.
import type { AlsoUniqueSetting } from '../config/also-unique-schema.ts'
import { movedHome } from '../model/home.ts'
import type { FurtherNames } from '../model/operation.ts'
import { encodeList, encodeString } from './canonical.ts'
import { keyedHash, type FingerprintKeys } from './keys.ts'
import type { RequestContext } from './request-context.ts'
import { compileSelector, type CompiledSelector } from './select.ts'

export interface CompiledFurtherName {
  readonly label: string
  /** All of them count. */
  readonly selectors: readonly CompiledSelector[]
}

const NAME_CHARS = 32

/** Undefined: the rule has none. */
export function compileAlsoUnique(settings: Readonly<AlsoUniqueSetting> | undefined): CompiledFurtherName[] | undefined {
  return settings && Object.entries(settings).map(([label, setting]) => ({ label, selectors: selectorsOf(setting).map(compileSelector) }))
}

function selectorsOf(setting: AlsoUniqueSetting[string]): readonly string[] {
  return typeof setting === 'string' ? [setting] : setting.all
}

/** Where all facts of one owner are at home that a rule has to tell apart by further names, so that these can be looked at in one step. */
export function homeOfOwner(rule: string, owner: string, keys: FingerprintKeys): string {
  return keyedHash(keys.name, `h${encodeString(rule)}${encodeString(owner)}`).slice(0, NAME_CHARS)
}

/** Those that the request brings, at home where its fingerprint is; undefined where it brings none. */
export function readAlsoUnique(
  further: readonly CompiledFurtherName[],
  context: RequestContext,
  { rule, owner, fingerprint, keys }: { rule: string; owner: string; fingerprint: string; keys: FingerprintKeys },
): FurtherNames | undefined {
  const found = further.flatMap(({ label, selectors }) => {
    const values = selectors.map(({ select }) => select(context))
    return values.some((each) => each.length === 0) ? [] : [{ label, canonical: values.map(encodeList).join('') }]
  })
  if (found.length === 0) return undefined
  const nameOf = ({ label, canonical }: { label: string; canonical: string }): string => {
    const name = keyedHash(keys.name, `n${encodeString(rule)}${encodeString(owner)}${encodeString(label)}${canonical}`)
    return movedHome(name.slice(0, NAME_CHARS), fingerprint)
  }
  return { labels: found.map(({ label }) => label), names: found.map(nameOf) }
}
