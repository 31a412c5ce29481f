// Paths with variables, like /tasks/{path.taskId}/runs/{fingerprint}: which text they are made of, and what stands in them.
import { didYouMean } from './did-you-mean.ts'
import { parseSelector, type Selector, SelectorError } from './selectors.ts'

/** What an execution is called by; every other variable is a selector. */
export const EXECUTION_NAMES = ['fingerprint', 'execution', 'attempt', 'key'] as const

export type ExecutionWord = (typeof EXECUTION_NAMES)[number]

export type TemplatePiece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'name'; readonly name: ExecutionWord }
  | { readonly kind: 'selector'; readonly text: string }

/** RFC 3986 3.3 and 3.4: what a path with a query may hold as it is. */
const LITERAL = /^[A-Za-z0-9._~!$&'()*+,;=:@/?%-]*$/

/** Reads a template; throws a SelectorError that says what is wrong and what was probably meant. */
export function parsePathTemplate(template: string): TemplatePiece[] {
  if (!template.startsWith('/') || template.startsWith('//')) throw new SelectorError('a path starts with one /', EXAMPLE)
  return template
    .split(/(\{[^{}]*\})/)
    .filter((piece) => piece !== '')
    .map((piece) => (piece.startsWith('{') && piece.endsWith('}') ? variable(piece.slice(1, -1).trim()) : literal(piece)))
}

const EXAMPLE = 'like /tasks/{path.taskId}/runs/{fingerprint}'

function literal(text: string): TemplatePiece {
  if (/[{}]/.test(text)) throw new SelectorError(`a { or } stands alone in "${text}"`, EXAMPLE)
  if (LITERAL.test(text)) return { kind: 'text', text }
  throw new SelectorError(`"${text}" holds a character that a path cannot have`, 'percent-encode it')
}

function variable(text: string): TemplatePiece {
  const name = EXECUTION_NAMES.find((known) => known === text)
  if (name !== undefined) return { kind: 'name', name }
  if (!/[.[]/.test(text) && !['method', 'host', 'ip', 'body', 'query'].includes(text)) {
    const hint = didYouMean(text, EXECUTION_NAMES) ?? `one of ${EXECUTION_NAMES.join(', ')}, or a selector like path.taskId or body.run_id`
    throw new SelectorError(`unknown variable "{${text}}"`, hint)
  }
  if (isWhole(parseSelector(text))) throw new SelectorError(`"{${text}}" is more than a path can hold`, `name a field, like {${text}.id}`)
  return { kind: 'selector', text }
}

function isWhole(selector: Selector): boolean {
  return (selector.source === 'body' && selector.path === undefined) || (selector.source === 'query' && selector.name === undefined)
}
