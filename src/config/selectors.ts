// Selectors: the words by which a rule says where in a request a value stands.
import { JSONPathEnvironment, JSONPathError, TokenKind, type JSONPathQuery } from 'json-p3'
import { didYouMean } from './did-you-mean.ts'

/** `path` of a body is an RFC 9535 JSONPath with its `$`; without it the whole body is meant, as without `name` the whole query. */
export type Selector =
  | { readonly source: 'body'; readonly path?: string }
  | { readonly source: 'query'; readonly name?: string }
  | { readonly source: 'jwt'; readonly path: string }
  | { readonly source: 'header' | 'path' | 'cookie'; readonly name: string }
  | { readonly source: 'method' | 'urlPath' | 'host' | 'ip' }

export class SelectorError extends Error {
  override readonly name = 'SelectorError'
  readonly hint: string | undefined

  constructor(message: string, hint?: string) {
    super(message)
    this.hint = hint
  }
}

const SPELLINGS = ['body', 'body.<path>', 'header.<name>', 'query', 'query.<name>', 'path.<param>', 'cookie.<name>', 'jwt.<claim>'] as const
const WHOLE = ['method', 'url.path', 'host', 'ip'] as const
const EXPECTED = `expected one of ${[...SPELLINGS, ...WHOLE].join(', ')}`

/** RFC 9110 5.6.2: what header and cookie names are made of. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Never part of what a fingerprint may read: hop-by-hop (RFC 9110 7.6.1), and what the gateway drops as its own. */
export const UNREADABLE_HEADERS: ReadonlySet<string> = new Set(
  (
    'connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade ' +
    'idempotency-fingerprint idempotency-replayed idempotency-execution idempotency-attempt idempotency-unguarded'
  ).split(' '),
)

/** Reads one selector; throws a SelectorError that says what is wrong and what was probably meant. */
export function parseSelector(text: string): Selector {
  if (text === 'url.path') return { source: 'urlPath' }
  if (text === 'method' || text === 'host' || text === 'ip') return { source: text }
  const source = /^[^.[]*/.exec(text)?.[0] ?? ''
  const rest = text.slice(source.length)
  switch (source) {
    case 'body':
      return rest === '' ? { source } : { source, path: checkedPath(text, rest) }
    case 'jwt':
      if (rest === '') throw new SelectorError('"jwt" names no claim', 'write jwt.<claim>, like jwt.sub')
      return { source, path: checkedPath(text, rest) }
    case 'query':
      return rest === '' ? { source } : { source, name: nameAfterDot(text, rest) }
    case 'header':
      return { source, name: headerName(text, rest) }
    case 'cookie':
      return { source, name: token(text, nameAfterDot(text, rest)) }
    case 'path':
      return { source, name: paramName(text, rest) }
    default:
      throw unknownSource(text, source, rest)
  }
}

// These run the rule's pattern on JavaScript's RegExp, where one request can take minutes: they are left out.
const REGEXP_FUNCTIONS = ['match', 'search']
/** How deep `..` looks: with every level each node costs more. */
export const DESCENT_LEVELS = 48
// The library counts the root as the first, and stops at the one it is given.
const environment = new JSONPathEnvironment({ maxRecursionDepth: DESCENT_LEVELS + 2 })
for (const name of REGEXP_FUNCTIONS) environment.functionRegister.delete(name)

/** Compiles a JSONPath (with its `$`) as selectors mean it; throws json-p3's errors. */
export function compileJsonPath(path: string): JSONPathQuery {
  return environment.compile(path)
}

function checkedPath(text: string, rest: string): string {
  const path = `$${rest}`
  try {
    compileJsonPath(path)
  } catch (error) {
    if (error instanceof JSONPathError && error.token.kind === TokenKind.FUNCTION && REGEXP_FUNCTIONS.includes(error.token.value)) {
      const why = 'a regular expression there could be made to run for minutes; compare with == or take the whole field'
      throw new SelectorError(`"${text}" uses ${error.token.value}(), which is not available`, why)
    }
    const reason = rest === '.' ? 'nothing stands after the dot' : error instanceof Error ? error.message : String(error)
    const hint = 'after body and jwt stands an RFC 9535 JSONPath without its $, like body.user.id or body.items[*].sku'
    throw new SelectorError(`"${text}" is not a valid JSONPath: ${reason}`, hint)
  }
  return path
}

function nameAfterDot(text: string, rest: string): string {
  if (rest.length > 1 && rest.startsWith('.')) return rest.slice(1)
  const source = text.slice(0, text.length - rest.length)
  throw new SelectorError(`"${text}" names no ${source === 'path' ? 'parameter' : source}`, `write ${source}.<name>`)
}

function token(text: string, name: string): string {
  if (TOKEN.test(name)) return name
  throw new SelectorError(`"${text}" holds a character that no such name can have`, "expected letters, digits and !#$%&'*+-.^_`|~")
}

function headerName(text: string, rest: string): string {
  const name = token(text, nameAfterDot(text, rest)).toLowerCase()
  if (!UNREADABLE_HEADERS.has(name)) return name
  throw new SelectorError(
    `"${text}" can never be read`,
    'hop-by-hop headers and those that the gateway itself sets are not part of a request',
  )
}

function paramName(text: string, rest: string): string {
  const name = nameAfterDot(text, rest)
  if (name === '*' || /^\w+$/.test(name)) return name
  throw new SelectorError(
    `"${text}" is not the name of a path parameter`,
    'for match.path /tasks/:taskId write path.taskId; for the rest after /* write path.*',
  )
}

function unknownSource(text: string, source: string, rest: string): SelectorError {
  const sources = ['body', 'header', 'query', 'path', 'cookie', 'jwt']
  if (source === '$') return new SelectorError(`"${text}" has no source`, `write body${rest}`)
  if (source === 'url' || source === 'uri') return new SelectorError(`unknown selector "${text}"`, 'did you mean "url.path"?')
  const near = didYouMean(source, rest === '' ? [...sources, ...WHOLE] : sources)
  const hint = near === undefined ? EXPECTED : near.replace(/"\?$/, `${rest}"?`)
  return new SelectorError(`unknown selector source "${source === '' ? text : source}"`, hint)
}
