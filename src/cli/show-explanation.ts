// An explanation as people read it; `--json` has it whole.
import type { ExplainedPart, ExplainedSource, Explanation } from '../fingerprint/explain.ts'

/** Longer values are cut. */
const SHOWN_CHARS = 160

export function showExplanation(explanation: Explanation, note: string | undefined): string {
  const { rules, parts, owner, fingerprint, aliases, group, alsoUnique, digest, digestFields } = explanation
  const lines = [
    outcome(explanation),
    '',
    'rules',
    ...rules.map(({ rule, verdict, detail }) => `  ${verdict === 'guards' ? '→' : ' '} ${rule}: ${detail}`),
    ...(parts.length === 0 ? [] : ['', 'parts', ...parts.flatMap(showPart)]),
    ...(owner === null ? [] : ['', ...pair('owner', showOwner(owner))]),
    ...(fingerprint === null ? [] : pair('fingerprint', fingerprint)),
    ...(aliases.length === 0 ? [] : pair('looked under', `${aliases.join(', ')} too, for its window`)),
    ...(group === null ? [] : pair('group', `${group}: one of its facts is executed at a time`)),
    ...alsoUnique.flatMap(({ name, as }) => pair('also unique', `${name}, as ${as}: no other fact may have it`)),
    ...(fingerprint === null ? [] : pair('digest', digest ?? 'none: nothing else is compared')),
    ...(digestFields.length === 0 ? [] : pair('fields', digestFields.join(', '))),
    ...(explanation.firstTry ? pair('first try', 'yes: a result that is there already counts as another wish') : []),
    ...(note === undefined ? [] : ['', `note: ${note}`]),
  ]
  return `${lines.join('\n')}\n`
}

function outcome({ outcome: what, rule, reason, problem }: Explanation): string {
  if (problem !== undefined) return `refused with ${problem.status} ${problem.name}: ${problem.detail}`
  if (what === 'guarded') return `guarded by "${rule}"`
  return `${what}: ${reason ?? ''}`
}

function showPart({ name, dropped, tried, source, canonical }: ExplainedPart): string[] {
  const from = source ?? (canonical !== null ? 'constant or default' : 'nothing: missing or left out')
  return [
    `  ${name} from ${from}`,
    ...tried.flatMap((each) => showSource(each)),
    ...dropped.map(({ selector, reason }) => `    ${selector} is not asked: ${reason}`),
    ...(canonical === null ? [] : [`    canonical  ${cut(canonical)}`]),
  ]
}

function showSource({ selector, trust, raw, steps }: ExplainedSource): string[] {
  return [
    `    ${selector}${trust === 1 ? '' : ` (trust ${trust})`}  ${showValues(raw)}`,
    ...steps.map(({ step, values }) => `      ${step}  ${showValues(values)}`),
  ]
}

function showValues(values: readonly unknown[]): string {
  return values.length === 0 ? 'absent' : values.map((value) => cut(JSON.stringify(value))).join(', ')
}

function showOwner({ kind, source, tag }: NonNullable<Explanation['owner']>): string {
  if (kind === 'none') return 'none: everybody shares'
  return `${kind === 'known' ? `from ${source}` : 'absent: the key alone'}${tag === undefined ? '' : `, as ${tag}`}`
}

function pair(name: string, value: string): string[] {
  return [`${name.padEnd(12)} ${value}`]
}

function cut(text: string): string {
  return text.length <= SHOWN_CHARS ? text : `${text.slice(0, SHOWN_CHARS)}… (${text.length} characters)`
}
