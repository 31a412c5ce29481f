// Somebody who looks on while a request is identified: `explain` shows what really happened, never a second derivation.
import type { CanonicalValue } from './canonical.ts'

export interface Watch {
  /** A source of the part is never asked, for this reason. */
  readonly dropped: (part: string, source: { readonly text: string; readonly trust: number }, reason: string) => void
  /** A source was read for a part; what it found, before any step. No values: absent. */
  readonly source: (part: string, source: { readonly text: string; readonly trust: number }, found: readonly CanonicalValue[]) => void
  /** What one step left of the source read last. */
  readonly step: (name: string, values: readonly CanonicalValue[]) => void
  /** A part is read. `canonical` undefined: left out or missing; `source` undefined: a constant or default stands in. */
  readonly part: (name: string, canonical: string | undefined, source: string | undefined) => void
  readonly owner: (kind: 'none' | 'absent' | 'known', source: string | undefined) => void
}
