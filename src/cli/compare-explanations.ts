// What a change of the rules changes for recorded requests: which share a record, which answer, which guard. Pure.
import type { Explanation } from '../fingerprint/explain.ts'

export interface Explained {
  /** Of the file of requests. */
  readonly line: number
  readonly before: Explanation
  readonly after: Explanation
}

/** Lines in groups: what is one group on one side of the change is several on the other. */
export type Groups = readonly (readonly number[])[]

export interface GuardChange {
  readonly line: number
  readonly before: string
  readonly after: string
}

export interface Comparison {
  readonly requests: number
  /** Shares a record now, and did not: the groups as they were. */
  readonly joined: readonly Groups[]
  /** No longer shares a record: the groups as they are now. */
  readonly parted: readonly Groups[]
  /** One record on both sides: contents that agree now and did not, as they were (they got 422). */
  readonly agreeing: readonly Groups[]
  /** One record on both sides: contents that no longer agree, as they are now (they get 422). */
  readonly conflicting: readonly Groups[]
  readonly guards: readonly GuardChange[]
  /** Guarded by the same rule under another fingerprint: their records from before the change are not found. */
  readonly renamed: readonly number[]
}

export function compareExplanations(explained: readonly Explained[]): Comparison {
  const lines = explained.map(({ line }) => line)
  const [before, after] = [recordsOf(explained.map((each) => each.before)), recordsOf(explained.map((each) => each.after))]
  const shared = before.map((record, n) => `${record} ${after[n]}`)
  const contents = (side: 'before' | 'after') => explained.map((each, n) => `${shared[n]} ${each[side].digest}`)
  return {
    requests: lines.length,
    joined: split(lines, after, before),
    parted: split(lines, before, after),
    agreeing: split(lines, contents('after'), contents('before'), shared),
    conflicting: split(lines, contents('before'), contents('after'), shared),
    guards: explained.flatMap(({ line, before, after }) =>
      guardOf(before) === guardOf(after) ? [] : [{ line, before: guardOf(before), after: guardOf(after) }],
    ),
    renamed: explained
      .filter(({ before, after }) => guardOf(before) === guardOf(after) && before.fingerprint !== after.fingerprint)
      .map(({ line }) => line),
  }
}

/** Per request a label of its record. Who looks under another's name shares its record, and with it all who do the same. */
function recordsOf(explanations: readonly Explanation[]): number[] {
  const labels = explanations.map((_, n) => n)
  const rootOf = (n: number): number => {
    let root = n
    while (labels[root] !== root) root = labels[root]!
    labels[n] = root
    return root
  }
  const owners = new Map<string, number>()
  for (const [n, { fingerprint }] of explanations.entries()) {
    if (fingerprint === null) continue
    const first = owners.get(fingerprint)
    if (first === undefined) owners.set(fingerprint, n)
    else labels[n] = first
  }
  for (const [n, { aliases }] of explanations.entries()) {
    for (const alias of aliases) {
      const other = owners.get(alias)
      if (other !== undefined) labels[rootOf(n)] = rootOf(other)
    }
  }
  return labels.map((_, n) => rootOf(n))
}

/** Of each group of `wholes` the groups of `pieces` in it, where there are several; only among those that agree in `within`. */
function split<T>(lines: readonly number[], wholes: readonly T[], pieces: readonly T[], within?: readonly string[]): Groups[] {
  const groups = new Map<string, Map<T, number[]>>()
  for (const [n, line] of lines.entries()) {
    const key = `${String(wholes[n])} ${within?.[n] ?? ''}`
    const parts = groups.get(key) ?? new Map<T, number[]>()
    const piece = pieces[n]!
    parts.set(piece, [...(parts.get(piece) ?? []), line])
    groups.set(key, parts)
  }
  return [...groups.values()].filter((parts) => parts.size > 1).map((parts) => [...parts.values()])
}

function guardOf({ outcome, rule, problem }: Explanation): string {
  if (outcome === 'guarded') return `guarded by "${rule}"`
  return problem === undefined ? outcome : `refused with ${problem.status} ${problem.name}`
}
