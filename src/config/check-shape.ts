// The schema's issues, one per place and in plain words.
import type { z } from 'zod'
import { didYouMean } from './did-you-mean.ts'
import { adviceForKey } from './known-keys.ts'
import { valueAt } from './plain-values.ts'
import { showPlace, type Finding, type Place } from './mistakes.ts'

type Issue = z.core.$ZodIssue

/** Explains the issues that the schema found in `root`. */
export function explainIssues(issues: readonly Issue[], root: unknown): Finding[] {
  const findings = issues.flatMap((issue) => explain(issue, root, []))
  // `form:` for `from:` is one slip, not an unknown key and a missing one.
  const slips = new Set(findings.flatMap(({ place, at, hint }) => (at === 'key' ? [`${showPlace(place.slice(0, -1))} ${hint ?? ''}`] : [])))
  return findings.filter(({ place, message }) => {
    const missing = /^"(.*)" is missing$/.exec(message)?.[1]
    return missing === undefined || !slips.has(`${showPlace(place)} did you mean "${missing}"?`)
  })
}

function explain(issue: Issue, root: unknown, base: Place): Finding[] {
  const place = [...base, ...issue.path.map((step) => (typeof step === 'number' ? step : String(step)))]
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({
        place: [...place, key],
        at: 'key',
        message: `unknown key "${key}"`,
        hint: adviceForKey(place, key),
      }))
    case 'invalid_key':
      return [explainKey(issue.issues[0], place)]
    case 'invalid_union':
      return explainUnion(issue, root, place)
    default:
      return [explainValue([issue], root, place)]
  }
}

function explainKey(issue: Issue | undefined, place: Place): Finding {
  return { place, at: 'key', message: issue?.message ?? 'not a valid key', hint: issue?.code === 'custom' ? hintOf(issue) : undefined }
}

/** Of a union's branches, the one that was meant; where none stands out, all that would have done. */
function explainUnion(issue: z.core.$ZodIssueInvalidUnion, root: unknown, place: Place): Finding[] {
  const value = valueAt(root, place)
  const branches = flattenBranches(issue.errors)
  const ofItsKind = branches.filter((branch) => !branch.some((inner) => isWrongKind(inner, value)))
  const deep = ofItsKind.filter((branch) => branch.some((inner) => inner.path.length > 0 || inner.code === 'unrecognized_keys'))
  const meant = deep.toSorted((a, b) => strangeness(a) - strangeness(b))[0]
  if (meant !== undefined) return meant.flatMap((inner) => explain(inner, root, place))
  const wanted = ofItsKind.length > 0 ? ofItsKind : branches
  return [
    explainValue(
      wanted.map((branch) => branch[0]).filter((inner) => inner !== undefined),
      root,
      place,
    ),
  ]
}

function flattenBranches(branches: readonly (readonly Issue[])[]): (readonly Issue[])[] {
  return branches.flatMap((branch) => {
    const [only] = branch
    return branch.length === 1 && only?.code === 'invalid_union' && only.path.length === 0 ? flattenBranches(only.errors) : [branch]
  })
}

function isWrongKind(issue: Issue, value: unknown): boolean {
  if (issue.path.length > 0) return false
  if (issue.code === 'invalid_type') return !(issue.expected === 'int' && typeof value === 'number')
  return issue.code === 'invalid_value' && !issue.values.some((wanted) => typeof wanted === typeof value)
}

function strangeness(branch: readonly Issue[]): number {
  return branch.reduce((sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length * 2 : 1), 0)
}

/** One mistake for one value, whatever number of things would have been right there. */
function explainValue(issues: readonly Issue[], root: unknown, place: Place): Finding {
  const value = valueAt(root, place)
  if (value === undefined) return { place: place.slice(0, -1), at: 'value', message: `"${String(place.at(-1))}" is missing` }
  const [first] = issues
  if (issues.length === 1 && first !== undefined && first.code === 'custom')
    return { place, at: 'value', message: first.message, hint: hintOf(first) }
  const wanted = [...new Set(issues.map(expectation))].join(' or ')
  const got = issues.some((issue) => issue.code === 'invalid_type') ? `, got ${kindOf(value)}` : ''
  const words = issues.flatMap((issue) => (issue.code === 'invalid_value' ? issue.values.map(String) : []))
  return { place, at: 'value', message: `expected ${wanted}${got}`, hint: typeof value === 'string' ? didYouMean(value, words) : undefined }
}

function hintOf(issue: z.core.$ZodIssueCustom): string | undefined {
  const hint: unknown = issue.params?.['hint']
  return typeof hint === 'string' ? hint : undefined
}

function expectation(issue: Issue): string {
  if (issue.message.startsWith('expected ')) return issue.message.slice('expected '.length)
  switch (issue.code) {
    case 'invalid_type':
      return KINDS[issue.expected] ?? issue.expected
    case 'invalid_value':
      return issue.values.map((value) => (typeof value === 'string' ? `"${value}"` : String(value))).join(' or ')
    case 'too_small':
      return issue.origin === 'array' ? 'at least one entry' : issue.origin === 'string' ? 'some text' : `at least ${issue.minimum}`
    case 'too_big':
      return `at most ${issue.maximum}`
    default:
      return issue.message
  }
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping',
  record: 'a mapping',
}

function kindOf(value: unknown): string {
  if (value === null) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'boolean') return String(value)
  return KINDS[typeof value] ?? typeof value
}
