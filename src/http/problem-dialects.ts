// The body of a problem in the words of each kind of SDK. All of them tell the same facts.
import type { ProblemDocument } from '../model/problem-document.ts'
import { type ErrorDialect, type Problem, type ProblemName, problemStatus } from '../model/problems.ts'

export interface Dialect {
  /** The whole body. `requesterId`: JSON text of the `id` that the request has, where it is JSON-RPC. */
  readonly body: (facts: ProblemDocument, problem: Problem, requesterId: string | undefined) => string
  /** Further header lines. */
  readonly headers?: (problem: Problem) => readonly string[]
  /** Where the body is no problem document (RFC 9457), and must not be called one. */
  readonly contentType?: string
}

export const DIALECTS: Readonly<Record<ErrorDialect, Dialect>> = {
  problem: { body: (facts, problem) => bodyOf(facts, problem) },
  openai: { body: (facts, problem) => bodyOf(facts, problem, { type: openaiType(problem), param: null }) },
  // Some SDKs take a body for an error only by this `type`; the problem's own is told by `code`.
  anthropic: {
    body: (facts, problem) =>
      bodyOf({ ...facts, type: 'error' }, problem, { type: anthropicType(problem), details: { error_code: problem.name } }),
  },
  stripe: { body: (facts, problem) => bodyOf(facts, problem, { type: stripeType(problem) }) },
  // JSON protocols are read by SDKs that look for the name in the header, and by some that look for `__type`.
  aws: {
    body: (facts, problem) => bodyOf({ ...facts, __type: awsName(problem.name) }, problem),
    headers: ({ name }) => ['x-amzn-errortype', awsName(name)],
  },
  jsonrpc: { body: jsonrpcBody, contentType: 'application/json' },
}

/** `message` and `error` repeat the text where SDKs read it: one of them takes a body without `error` for a success. */
function bodyOf(facts: ProblemDocument, problem: Problem, error: object = {}): string {
  const message = facts.detail
  return JSON.stringify({ ...facts, message, error: { type: facts.type, code: problem.name, message, ...error } })
}

/**
 * JSON-RPC 2.0 section 5.1. It goes out with the problem's own HTTP status, not with 200: A2A's SDK shows message and code of an error with
 * either, MCP's as McpError with 200 and as HTTP error with this body in its text otherwise, and both end the call at once. But only with an
 * error status do programs in between, and clients that retry by status and Retry-After, see that it is no result.
 */
function jsonrpcBody({ detail, ...facts }: ProblemDocument, problem: Problem, requesterId = 'null'): string {
  const code = JSONRPC_CODES[problem.name] ?? JSONRPC_REFUSED
  const data = { code: problem.name, ...facts }
  // Put together as text: an id may be a number that would be rounded.
  return `{"jsonrpc":"2.0","id":${requesterId},"error":${JSON.stringify({ code, message: detail, data })}}`
}

/** Of the range for servers, apart from the codes that A2A (-32001 …) and MCP (-32000 …, -32042) have given meanings to. */
const JSONRPC_REFUSED = -32_080

const JSONRPC_CODES: Partial<Record<ProblemName, number>> = {
  'body-invalid': -32_700,
  'request-invalid': -32_600,
  'field-missing': -32_602,
  'field-invalid': -32_602,
  'internal-error': -32_603,
}

function openaiType(problem: Problem): string {
  return problemStatus(problem) >= 500 ? 'server_error' : 'invalid_request_error'
}

function anthropicType(problem: Problem): string {
  const status = problemStatus(problem)
  return ANTHROPIC_TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
}

const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
}

function stripeType(problem: Problem): string {
  if (ABOUT_THE_KEY.has(problem.name)) return 'idempotency_error'
  return problemStatus(problem) >= 500 ? 'api_error' : 'invalid_request_error'
}

const ABOUT_THE_KEY: ReadonlySet<ProblemName> = new Set(['key-reused', 'key-missing', 'key-invalid', 'in-flight', 'outcome-unknown'])

/** `key-reused` → `KeyReusedException`. */
function awsName(name: ProblemName): string {
  return `${name.replaceAll(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase())}Exception`
}
