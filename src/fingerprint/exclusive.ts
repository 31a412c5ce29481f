// The group of a rule's `exclusive`: what facts have in common of which one may be executed at a time.
import type { ExclusiveConfig } from '../config/gateway-config.ts'
import { encodeList, encodeString } from './canonical.ts'
import { groupName, type FingerprintKeys } from './keys.ts'
import { Refusal } from './refusal.ts'
import type { RequestContext } from './request-context.ts'
import { compileSelector, type CompiledSelector } from './select.ts'

export interface CompiledExclusive {
  /** Two rules never share a group by accident: it is the rule's own where the file names none. */
  readonly scope: string
  readonly by: readonly CompiledSelector[]
}

export function compileExclusive({ by, group }: ExclusiveConfig, rule: string): CompiledExclusive {
  return { scope: group === undefined ? `r${encodeString(rule)}` : `g${encodeString(group)}`, by: by.map(compileSelector) }
}

/**
 * `owner`, canonical, is part of it: owners never wait for each other; all who have none are one. Undefined where a value is missing with
 * which the rule lets the request pass.
 */
export function readGroup(
  { scope, by }: CompiledExclusive,
  context: RequestContext,
  owner: string,
  { keys, onMissing }: { keys: FingerprintKeys; onMissing: 'refuse' | 'pass' | 'skip' },
): string | undefined {
  let values = ''
  for (const { text, select } of by) {
    const found = select(context)
    if (found.length === 0 && onMissing === 'pass') return undefined
    if (found.length === 0 && onMissing === 'refuse')
      throw new Refusal('field-missing', `What the rule's exclusive group goes by is missing: send ${text}.`)
    values += encodeList(found)
  }
  return groupName(`v1:${scope}${owner}l${by.length}:${values}`, keys)
}
