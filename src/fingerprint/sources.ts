// Where a part comes from: one selector, or several joined, each with the trust that the file gives it.
import type { PartSetting } from '../config/schema.ts'
import type { CanonicalValue } from './canonical.ts'
import type { RequestContext } from './request-context.ts'
import { compileSelector, type CompiledSelector } from './select.ts'

export interface Source {
  /** As people write it: `ip + header.user-agent`. */
  readonly text: string
  readonly selectors: readonly CompiledSelector[]
  readonly trust: number
  readonly select: (context: RequestContext) => readonly CanonicalValue[]
}

type From = Extract<PartSetting, { from: unknown }>['from']
type Entry = Exclude<From, string>[number]

export interface Sources {
  /** In their order. */
  readonly sources: readonly Source[]
  /** Below `minTrust`, and so as good as not there. */
  readonly dropped: readonly Source[]
}

export function compileSources(from: From, minTrust = 0): Sources {
  const entries: readonly Entry[] = typeof from === 'string' ? [from] : from
  const all = entries.map(compileSource)
  return { sources: all.filter(({ trust }) => trust >= minTrust), dropped: all.filter(({ trust }) => trust < minTrust) }
}

export function compileSource(entry: Entry): Source {
  if (typeof entry !== 'string' && 'all' in entry) return joined(entry.all.map(compileSelector), entry.trust)
  const selector = compileSelector(typeof entry === 'string' ? entry : entry.select)
  return { text: selector.text, selectors: [selector], trust: typeof entry === 'string' ? 1 : entry.trust, select: selector.select }
}

/** Absent where one of them is: half of a combination names somebody else. */
function joined(selectors: readonly CompiledSelector[], trust: number): Source {
  return {
    text: selectors.map(({ text }) => text).join(' + '),
    selectors,
    trust,
    select: (context) => {
      const found = selectors.map(({ select }) => select(context))
      return found.every((values) => values.length > 0) ? found : []
    },
  }
}
