// Which source a part was read from, for the parts that have a choice: a fallback list, or one that is not trusted fully.
import type { Rule } from './compile-rule.ts'
import type { CompiledPart } from './parts.ts'
import type { Watch } from './watch.ts'

/** No source has these names. */
const DEFAULT = 'default'
const MISSING = 'missing'

export interface PartSources {
  readonly part: string
  /** As the file writes them, then what stands in for them. */
  readonly sources: readonly string[]
}

/** None: the rule's requests need not be watched. */
export function partsWithChoice(rule: Rule): PartSources[] {
  return rule.parts.filter(hasChoice).map((part) => ({
    part: part.name,
    sources: [...new Set(part.sources.map(({ text }) => text)), part.fallback === undefined ? MISSING : DEFAULT],
  }))
}

function hasChoice({ sources, dropped }: CompiledPart): boolean {
  return sources.length + dropped.length > 1 || sources.some(({ trust }) => trust < 1)
}

/** Looks on while a request is identified, and tells of each part's source. */
export function countSources(tell: (part: string, source: string) => void): Watch {
  return {
    dropped: nothing,
    source: nothing,
    step: nothing,
    part: (name, canonical, source) => tell(name, source ?? (canonical === undefined ? MISSING : DEFAULT)),
    owner: nothing,
  }
}

function nothing(): void {}
