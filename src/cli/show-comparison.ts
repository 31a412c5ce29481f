// A comparison of two rule files as people read it; `--json` has it whole.
import type { Comparison, Groups } from './compare-explanations.ts'

/** Longer lists are cut. */
const SHOWN = 20

export function showComparison({ requests, joined, parted, agreeing, conflicting, guards, renamed }: Comparison): string {
  const sections = [
    section('now share a record (in groups as they were)', joined.map(showGroups)),
    section('no longer share a record (in groups as they are)', parted.map(showGroups)),
    section('now agree in content, and no longer get 422', agreeing.map(showGroups)),
    section('no longer agree in content, and now get 422', conflicting.map(showGroups)),
    section(
      'are guarded otherwise',
      guards.map(({ line, before, after }) => `line ${line}: ${before} → ${after}`),
    ),
    section('get another fingerprint: their records from before are not found', renamed.length === 0 ? [] : [showLines(renamed)]),
  ]
  const changes = sections.flat()
  const head = requests === 1 ? 'one request compared' : `${requests} requests compared`
  return `${[changes.length === 0 ? `${head}: nothing changes` : head, ...changes].join('\n')}\n`
}

function section(title: string, lines: readonly string[]): string[] {
  if (lines.length === 0) return []
  const more = lines.length > SHOWN ? [`  … and ${lines.length - SHOWN} more`] : []
  return ['', title, ...lines.slice(0, SHOWN).map((line) => `  ${line}`), ...more]
}

function showGroups(groups: Groups): string {
  return groups.map(showLines).join(' | ')
}

function showLines(lines: readonly number[]): string {
  const shown = lines.slice(0, SHOWN).join(', ')
  const more = lines.length > SHOWN ? `, … (${lines.length} in all)` : ''
  return `${lines.length === 1 ? 'line' : 'lines'} ${shown}${more}`
}
