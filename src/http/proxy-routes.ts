// Every request to the traffic port: which rule it meets, and what it is answered with.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Rule } from '../fingerprint/compile-rule.ts'
import { identify } from '../fingerprint/identify.ts'
import { isIssued, type FingerprintKeys } from '../fingerprint/keys.ts'
import type { RequestParts } from '../fingerprint/request-parts.ts'
import type { Versions } from '../fingerprint/rule-history.ts'
import type { Watch } from '../fingerprint/watch.ts'
import type { Matched, RouteMatch } from '../fingerprint/route.ts'
import { withFields } from '../fingerprint/with-fields.ts'
import { choiceReadsClaims, choiceReadsBody, chooseRule } from '../fingerprint/where.ts'
import type { Answer } from '../idempotency/answer.ts'
import type { Gate, GuardedRequest } from '../idempotency/gate.ts'
import { handleRequest, refuseWithoutStore } from '../idempotency/handle-request.ts'
import { fingerprintOfEvent } from '../model/event-id.ts'
import { requesterOf } from '../model/jsonrpc/requester.ts'
import { headerLines, listHeader, passedOn } from '../model/headers.ts'
import type { RequestOutcome } from '../model/metrics.ts'
import { problem } from '../model/problems.ts'
import type { HeaderList } from '../model/stored-response.ts'
import type { Tracing } from '../model/trace.ts'
import type { RequestLine } from '../observe/request-log.ts'
import type { UpstreamOptions } from '../upstream/upstreams.ts'
import type { Cors } from './cors.ts'
import { Exchange } from './exchange.ts'
import { dialectOf } from './match-dialect.ts'
import { claimsWith, joinOtherNames } from './other-names.ts'
import { type Passed, passThrough } from './pass-through.ts'
import { preferredWait, prefersAsync } from './prefer.ts'
import { readBody } from './raw-body.ts'
import { requestParts } from './request-parts.ts'
import type { TokenVerifier } from './verify-token.ts'
import { resumeStream } from './result-page.ts'
import { watchInShadow } from './shadow.ts'
import { sendFollow } from './send-follow.ts'
import { isStatusPath, statusRoute } from './status-route.ts'

export interface ProxyRoutes {
  readonly gate: Gate
  readonly routes: (method: string, path: string) => RouteMatch
  readonly rules: ReadonlyMap<string, Rule>
  readonly otherVersions: (rule: string) => readonly Rule[]
  /** The versions of the rules that count besides; undefined: none. */
  readonly versions: () => Versions | undefined
  /** Undefined until the store has given the deployment's secret. */
  readonly keys: () => FingerprintKeys | undefined
  /** Whoever looks on while a request of the rule is identified. */
  readonly watches: ReadonlyMap<string, Watch>
  readonly upstream: UpstreamOptions
  readonly statusPath: string
  readonly cors: Cors
  readonly verifyToken: TokenVerifier | undefined
  /** True from SIGTERM on: no new work. */
  readonly draining: () => boolean
  readonly log: RequestLog
  /** Undefined where nobody traces. */
  readonly tracing: Tracing | undefined
  /** Called once for each request that was answered, or whose client left. */
  readonly logRequest: (line: RequestLine) => void
}

export interface RequestLog {
  info(details: object, message: string): void
  error(details: object, message: string): void
}

/** What one request came to, for its log line. */
interface Result extends Pick<RequestLine, 'status' | 'reason'> {
  readonly outcome: RequestOutcome
}

export interface Incoming {
  readonly raw: IncomingMessage
  readonly response: ServerResponse
  /** The request target as it came. */
  readonly url: string
  readonly ip: string
}

const NO_BODY = Buffer.alloc(0)

export async function proxyRequest(proxy: ProxyRoutes, incoming: Incoming): Promise<void> {
  const started = performance.now()
  const { raw, response, url, ip } = incoming
  const exchange = new Exchange(raw, response, { url, ip, statusPath: proxy.statusPath, cors: proxy.cors })
  let result: Result
  try {
    result = await route(proxy, exchange)
  } catch (error) {
    // A fault of the gateway's own: the client must not wait for an answer that will not come.
    proxy.log.error({ err: error, method: raw.method, path: exchange.target.path }, 'request failed')
    proxy.gate.metrics.request(exchange.rule, 'internal-error')
    if (response.headersSent) exchange.client.break()
    else exchange.sendProblem(problem('internal-error', 'The gateway failed; its log says why. The same request may be sent again.'))
    return
  }
  const { outcome, status, reason } = result
  const { rule, fingerprint } = exchange
  proxy.gate.metrics.request(rule, outcome)
  const ms = Math.round((performance.now() - started) * 10) / 10
  proxy.logRequest({ method: raw.method!, path: exchange.target.path, outcome, status, reason, rule, fingerprint, ms })
}

function route(proxy: ProxyRoutes, exchange: Exchange): Result | Promise<Result> {
  const { path } = exchange.target
  // RFC 9112 3.2: without it nobody can say what the target is.
  if (exchange.raw.headers.host === undefined && exchange.raw.httpVersion !== '1.0')
    return refuse(exchange, problem('request-invalid', 'The request has no Host header.'), ['Connection', 'close'])
  if (isStatusPath(proxy.statusPath, path)) return status(proxy, exchange)
  const match = proxy.routes(exchange.raw.method!, path)
  exchange.dialect = dialectOf(match)
  if (proxy.draining())
    return refuse(exchange, problem('shutting-down', 'The gateway is shutting down: ask again.', { retryAfterMs: 1000 }), [
      'Connection',
      'close',
    ])
  switch (match.kind) {
    case 'unmatched':
      return resumeByGet(proxy, exchange) ?? pass(proxy, exchange, { upstream: proxy.upstream })
    case 'ambiguous':
      return refuse(exchange, problem('path-ambiguous', match.detail))
    case 'matched':
      return guard(proxy, exchange, match)
    case 'choice':
      return choose(proxy, exchange, match.options)
  }
}

/**
 * Some clients that lose the stream of a POST come back with a GET that names the last event they saw. Where the gateway has given that
 * event its id, the upstream could not know it. Undefined: no such request.
 */
function resumeByGet(proxy: ProxyRoutes, exchange: Exchange): Promise<Result> | undefined {
  if (exchange.raw.method !== 'GET' || exchange.raw.headers['last-event-id'] === undefined) return undefined
  const keys = proxy.keys()
  const fingerprint = fingerprintOfEvent(exchange.lastEventId ?? '')
  if (keys === undefined || fingerprint === undefined || !isIssued(fingerprint, keys)) return undefined
  exchange.fingerprint = fingerprint
  return resumeStream(proxy, exchange, fingerprint, keys).then((status) => ({ outcome: 'resumed', status }))
}

async function status(proxy: ProxyRoutes, exchange: Exchange): Promise<Result> {
  return { outcome: 'status', status: await statusRoute(proxy, exchange) }
}

/** The rule is chosen by what the request says. */
async function choose(proxy: ProxyRoutes, exchange: Exchange, options: readonly Matched[]): Promise<Result> {
  const limit = Math.max(...options.map(({ rule }) => rule.config.maxBody))
  const read = choiceReadsBody(options) ? await readRequest(exchange, { maxBody: limit, readsBody: true }) : undefined
  if (read !== undefined && 'outcome' in read) return read
  const known = read ?? requestParts(exchange, passedOn(exchange.raw.rawHeaders), NO_BODY)
  const request = choiceReadsClaims(options) ? await withClaims(proxy, exchange, known) : known
  if ('outcome' in request) return request
  const chosen = chooseRule(options, request)
  switch (chosen.kind) {
    case 'unmatched':
      exchange.dialect = 'problem'
      return pass(proxy, exchange, { upstream: proxy.upstream, ...(read && { body: read.body }) })
    case 'refused':
      return refuse(exchange, chosen.problem)
    case 'matched':
      // What was chosen without the body has not seen it.
      return read === undefined ? guard(proxy, exchange, { ...chosen, context: undefined }) : guard(proxy, exchange, chosen, request)
  }
}

function guard(proxy: ProxyRoutes, exchange: Exchange, match: Matched, read?: RequestParts): Promise<Result> {
  const { config } = match.rule
  exchange.dialect = config.errors
  exchange.rule = config.name
  if (config.mode !== 'enforce') {
    const onPassed = config.mode === 'shadow' ? watchInShadow(proxy, exchange, match, read) : undefined
    return pass(proxy, exchange, { upstream: config.upstream, ...(read && { body: read.body }), ...(onPassed && { onPassed }) })
  }
  return proxy.tracing === undefined ? enforce(proxy, exchange, match, read) : enforceTraced(proxy, exchange, match, read)
}

async function enforceTraced(proxy: ProxyRoutes, exchange: Exchange, match: Matched, read: RequestParts | undefined): Promise<Result> {
  const trace = proxy.tracing?.(exchange.raw.rawHeaders, match.rule.config.name)
  exchange.trace = trace
  let result: Result | undefined
  try {
    return (result = await enforce(proxy, exchange, match, read))
  } finally {
    trace?.ended(result?.outcome ?? 'internal-error', result?.status, exchange.fingerprint)
  }
}

/** The request with its body, up to the limit; or what came of it. */
function readRequest(exchange: Exchange, { maxBody, readsBody }: { maxBody: number; readsBody: boolean }): Promise<RequestParts | Result> {
  return readBody(exchange.raw, maxBody, { begin: () => exchange.continueReading() }).then((reading) => {
    if (reading.kind === 'too-large') return refuseTooLarge(exchange, maxBody)
    if (reading.kind === 'read') {
      exchange.body = reading.body
      const request = requestParts(exchange, passedOn(exchange.raw.rawHeaders), reading.body)
      return readsBody ? withFields(request) : request
    }
    exchange.client.break()
    return { outcome: 'client-gone', status: undefined }
  })
}

function refuseTooLarge(exchange: Exchange, maxBody: number): Result {
  return refuse(exchange, problem('body-too-large', `The body is over the rule's maxBody of ${maxBody} bytes.`))
}

/** The request with the claims of its bearer token, if it has one. What is no valid token meets no record. */
async function withClaims(proxy: ProxyRoutes, exchange: Exchange, request: RequestParts): Promise<RequestParts | Result> {
  if (proxy.verifyToken === undefined || request.claims !== undefined) return request
  const token = await proxy.verifyToken(headerLines(request.headers, 'authorization'))
  if (token.kind === 'absent') return request
  if (token.kind === 'verified') return { ...request, claims: token.claims }
  // RFC 6750 section 3.
  const challenge = token.problem.name === 'token-invalid' ? ['WWW-Authenticate', 'Bearer error="invalid_token"'] : []
  return refuse(exchange, token.problem, challenge)
}

async function enforce(proxy: ProxyRoutes, exchange: Exchange, match: Matched, already: RequestParts | undefined): Promise<Result> {
  const { config } = match.rule
  const read = already ?? (await readRequest(exchange, { maxBody: config.maxBody, readsBody: match.rule.readsBody }))
  if ('outcome' in read) return read
  const since = performance.now()
  const request = match.rule.readsClaims ? await withClaims(proxy, exchange, read) : read
  if ('outcome' in request) return request
  const { body, headers } = request
  if (body.length > config.maxBody) return refuseTooLarge(exchange, config.maxBody)
  const keys = proxy.keys()
  if (keys === undefined) return answer(proxy, exchange, match, { answer: refuseWithoutStore(config.onStoreError), body })
  const identified = identify(match.rule, request, match, keys, proxy.watches.get(config.name))
  proxy.gate.metrics.rule(config.name).fingerprint(identified.kind === 'unguarded' ? identified.reason : identified.kind)
  if (identified.kind === 'refused') return refuse(exchange, identified.problem)
  if (identified.kind === 'unguarded')
    return { ...(await pass(proxy, exchange, { upstream: config.upstream, body })), reason: identified.reason }
  const versions = proxy.versions()
  const own = { rule: match.rule, operation: identified.operation, match, request, keys, withClaims: claimsWith(proxy.verifyToken) }
  const operation = versions === undefined ? own.operation : await joinOtherNames(own, versions)
  exchange.trace?.identified(operation.fingerprint)
  const preferences = listHeader(headers, 'prefer')
  const { answer: decided, fingerprint } = await handleRequest(
    proxy.gate,
    {
      rule: config,
      operation,
      since,
      forward: {
        method: exchange.raw.method!,
        target: exchange.target.pathAndQuery,
        headers,
        body,
      },
      inquiryPath: inquiryPath(match, request, operation.clientKey),
      preferWait: preferredWait(preferences),
      respondAsync: config.async && prefersAsync(preferences),
      lastEventId: exchange.lastEventId,
      trace: exchange.trace,
      // The first client's stream begins with the execution's first event.
      streamTo: ({ fingerprint, executionId }) => exchange.streamOf(config, { fingerprint, executionId, before: 0, prime: true }),
    },
    match.rule.outcome,
    exchange.client,
  )
  exchange.fingerprint = fingerprint
  exchange.trace?.returning('executedBy' in decided ? decided.executedBy : undefined)
  return answer(proxy, exchange, match, { answer: decided, body })
}

function inquiryPath({ rule, params }: Matched, request: RequestParts, clientKey: string | undefined): GuardedRequest['inquiryPath'] {
  const compiled = rule.inquiryPath
  if (compiled === undefined) return undefined
  return ({ fingerprint, executionId, attempt }) =>
    compiled.render(request, params, { fingerprint, execution: executionId, attempt: String(attempt), key: clientKey ?? fingerprint })
}

function answer(
  proxy: ProxyRoutes,
  exchange: Exchange,
  match: Matched,
  decided: { answer: Answer; body: Buffer },
): Result | Promise<Result> {
  const made = decided.answer
  switch (made.kind) {
    case 'problem':
      return refuse(exchange, made.problem, made.headers)
    case 'replay':
      return sendReplay(exchange, match, made)
    case 'follow':
      return follow(proxy, exchange, match, { followed: made, body: decided.body })
    case 'accepted':
      return { outcome: 'accepted', status: exchange.sendAccepted(made.fingerprint, made.status) }
    case 'streamed':
      return { outcome: made.whole ? 'executed' : 'broken', status: made.status }
    case 'unguarded':
      return pass(proxy, exchange, { upstream: match.rule.config.upstream, body: decided.body, mark: ['Idempotency-Unguarded', 'true'] })
  }
}

async function sendReplay(exchange: Exchange, match: Matched, made: Extract<Answer, { kind: 'replay' }>): Promise<Result> {
  if (match.rule.config.protocol === 'jsonrpc') await exchange.sendAddressedReplay(made.response, made.headers)
  else await exchange.sendReplay(made.response, made.headers)
  return { outcome: 'replayed', status: made.response.head.status }
}

async function follow(
  proxy: ProxyRoutes,
  exchange: Exchange,
  match: Matched,
  { followed, body }: { followed: Extract<Answer, { kind: 'follow' }>; body: Buffer },
): Promise<Result> {
  const ended = await sendFollow(exchange, followed, {
    live: proxy.gate.live,
    rule: match.rule.config,
    requester: match.rule.config.protocol === 'jsonrpc' ? requesterOf(body) : undefined,
  })
  const outcome = followed.answer.live === undefined ? 'replayed' : 'attached'
  return { outcome: ended === 'whole' ? outcome : ended === 'gone' ? 'client-gone' : 'broken', status: followed.answer.head.status }
}

async function pass(
  proxy: ProxyRoutes,
  exchange: Exchange,
  options: { upstream: UpstreamOptions; body?: Buffer; mark?: HeaderList; onPassed?: (passed: Passed) => void },
): Promise<Result> {
  if (options.body === undefined) exchange.continueReading()
  const passed = await passThrough(
    proxy.gate.upstreams.get(options.upstream),
    {
      raw: exchange.raw,
      target: exchange.target.pathAndQuery,
      headers: passedOn(exchange.raw.rawHeaders),
      body: options.body,
      mark: options.mark ?? [],
    },
    exchange.client,
  )
  options.onPassed?.(passed)
  if (passed.kind === 'failed') return refuse(exchange, passed.problem)
  if (passed.kind === 'client-gone') return { outcome: 'client-gone', status: undefined }
  return { outcome: options.mark === undefined ? 'passed' : 'unguarded', status: passed.status }
}

function refuse(exchange: Exchange, refusal: Parameters<Exchange['sendProblem']>[0], headers?: HeaderList): Result {
  return { outcome: refusal.name, status: exchange.sendProblem(refusal, headers) }
}
