// Selectors compiled to functions: from a request to the values that it says there, none where it says nothing.
import { JSONPathRecursionLimitError, type JSONPathQuery } from 'json-p3'
import { compileJsonPath, DESCENT_LEVELS, parseSelector, type Selector } from '../config/selectors.ts'
import type { CanonicalValue } from './canonical.ts'
import type { JsonValue } from './json-value.ts'
import { canonicalPath } from './path-readings.ts'
import { queryValues, sortedGroups } from './query.ts'
import { Refusal } from './refusal.ts'
import type { RequestContext } from './request-context.ts'

/** A value of the body and where it stands. */
export interface BodyNode {
  readonly value: JsonValue
  readonly location: readonly (string | number)[]
}

export interface CompiledSelector {
  readonly text: string
  readonly selector: Selector
  /** Several values in their order; empty: absent. */
  readonly select: (context: RequestContext) => readonly CanonicalValue[]
}

/** Compiles `text`; throws config's SelectorError where it is none. */
export function compileSelector(text: string): CompiledSelector {
  const selector = parseSelector(text)
  return { text, selector, select: reader(selector) }
}

export function readsBody({ selector }: CompiledSelector): boolean {
  return selector.source === 'body'
}

export function readsClaims({ selector }: CompiledSelector): boolean {
  return selector.source === 'jwt'
}

function reader(selector: Selector): CompiledSelector['select'] {
  switch (selector.source) {
    case 'body':
      return bodyReader(selector.path)
    case 'jwt':
      return claimReader(selector.path)
    case 'query': {
      const { name } = selector
      return name === undefined ? wholeQuery : (context) => queryValues(context.query(), name)
    }
    case 'header': {
      const name = selector.name.toLowerCase()
      return (context) => context.headerLines(name)
    }
    case 'path':
      return ({ params }) => present(Object.hasOwn(params, selector.name) ? params[selector.name] : undefined)
    case 'cookie':
      return (context) => present(context.cookie(selector.name))
    case 'method':
      return ({ request }) => [request.method]
    case 'urlPath':
      return ({ request }) => [canonicalPath(request.path)]
    case 'host':
      return ({ request }) => (request.host === '' ? [] : [request.host.toLowerCase()])
    case 'ip':
      return ({ request }) => (request.ip === '' ? [] : [request.ip])
  }
}

function present(value: string | undefined): string[] {
  return value === undefined ? [] : [value]
}

/** One list of pairs: a query without parameters is an empty one, never absent. */
function wholeQuery(context: RequestContext): CanonicalValue[] {
  return [sortedGroups(context.query()).flatMap(({ name, values }) => values.map((value) => [name, value]))]
}

function bodyReader(path: string | undefined): CompiledSelector['select'] {
  if (path === undefined) return wholeBody
  const nodes = compileBodyPath(path)
  return (context) => nodes(context).map(({ value }) => value)
}

/** Claims of a token that was verified; without one there are none. */
function claimReader(path: string): CompiledSelector['select'] {
  const nodes = compileNodes(compileJsonPath(path))
  return ({ request: { claims } }) => (claims === undefined ? [] : nodes(claims).map(({ value }) => value))
}

/** A body with fields counts as their value, any other as its bytes; no body is absent. */
export function wholeBody(context: RequestContext): readonly CanonicalValue[] {
  if (!context.hasBody) return []
  return [context.hasFields ? context.fields() : context.request.body]
}

/** The nodes of the body to which a JSONPath (RFC 9535) leads. */
export function compileBodyPath(path: string): (context: RequestContext) => readonly BodyNode[] {
  const nodes = compileNodes(compileJsonPath(path))
  return (context) => (context.hasBody ? nodes(context.fields()) : [])
}

/** The nodes of a value to which the query leads. */
export function compileNodes(query: JSONPathQuery): (value: JsonValue) => readonly BodyNode[] {
  const singular = query.singularQuery()
  return (value) => {
    // To json-p3 an ExactNumber is an object without members, which is all that it needs to know.
    const root = value as Parameters<typeof query.query>[0]
    try {
      // The eager way spreads its results over the stack, which many of them would overflow.
      const nodes = singular ? query.query(root).nodes : [...query.lazyQuery(root)]
      return nodes as unknown as BodyNode[]
    } catch (error) {
      if (!(error instanceof JSONPathRecursionLimitError)) throw error
      throw new Refusal(
        'body-invalid',
        `The body is nested deeper than the ${DESCENT_LEVELS} levels that a selector with ".." reads.`,
        error,
      )
    }
  }
}
