// What the fingerprint tests share: a rule with every setting at its default, a request, and their operation.
import type { RuleConfig } from '../../src/config/gateway-config.ts'
import { compileRule } from '../../src/fingerprint/compile-rule.ts'
import { identify, type Identified } from '../../src/fingerprint/identify.ts'
import { deriveKeys } from '../../src/fingerprint/keys.ts'
import type { RequestParts } from '../../src/fingerprint/request-parts.ts'
import { compileRoutes } from '../../src/fingerprint/route.ts'
import { chooseRule } from '../../src/fingerprint/where.ts'
import type { Operation } from '../../src/model/operation.ts'

/** Monday 20 May 2024, 12:00 in Shanghai, 06:00 in Berlin, 00:00 in New York. */
export const NOW = Date.UTC(2024, 4, 20, 4)

export const keys = deriveKeys('a secret for tests')

export function ruleConfig(settings: Partial<RuleConfig> = {}): RuleConfig {
  return {
    name: 'test',
    match: { methods: ['POST', 'PATCH'], paths: [] },
    upstream: { url: 'http://127.0.0.1:1' },
    owner: 'none',
    fingerprint: { v: 'body.v' },
    scope: 'operation',
    digest: undefined,
    digestIgnore: [],
    inFlight: { answer: 'refuse', status: 425, retryAfter: 'auto', maxWait: 30_000 },
    errors: 'problem',
    protocol: 'http',
    outcome: {},
    onFailed: 'retry',
    onUnknown: 'refuse',
    onMissing: 'refuse',
    onStoreError: 'refuse',
    onDisconnect: 'continue',
    async: false,
    streamIds: false,
    streamError: 'reset',
    ttl: 86_400_000,
    lease: 30_000,
    timeout: 600_000,
    maxBody: 1 << 20,
    maxResult: 1 << 23,
    replayHeaders: { add: [], drop: [] },
    mode: 'enforce',
    ...settings,
  }
}

export interface Sent {
  readonly method?: string
  /** Path and query. */
  readonly url?: string
  readonly headers?: readonly string[]
  /** JSON text unless `headers` name another type. */
  readonly body?: string | Buffer
  readonly receivedAt?: number
  readonly ip?: string
}

export function request({ method = 'POST', url = '/', headers = [], body = '', receivedAt = NOW, ip = '192.0.2.1' }: Sent): RequestParts {
  const [path = '', ...query] = url.split('?')
  const typed = headers.some((name, at) => at % 2 === 0 && name.toLowerCase() === 'content-type')
  return {
    method,
    path,
    query: query.length === 0 ? undefined : query.join('?'),
    headers: typed ? headers : [...headers, 'Content-Type', 'application/json'],
    host: 'api.test',
    ip,
    body: Buffer.from(body),
    receivedAt,
  }
}

/** Through the routes, as the gateway does it. */
export function identified(settings: Partial<RuleConfig>, sent: Sent): Identified {
  const rule = compileRule(ruleConfig(settings))
  const parts = request(sent)
  const fit = compileRoutes([rule])(parts.method, parts.path)
  const match = fit.kind === 'choice' ? chooseRule(fit.options, parts) : fit
  if (match.kind !== 'matched') throw new Error(`the request is ${match.kind}`)
  return identify(rule, parts, match, keys)
}

export function operation(settings: Partial<RuleConfig>, sent: Sent): Operation {
  const result = identified(settings, sent)
  if (result.kind !== 'guarded') throw new Error(`not guarded: ${JSON.stringify(result)}`)
  return result.operation
}

export function fingerprint(settings: Partial<RuleConfig>, sent: Sent): string {
  return operation(settings, sent).fingerprint
}

/** The fingerprint where `body.v` is this JSON text. */
export function ofValue(json: string): string {
  return fingerprint({}, { body: `{"v":${json}}` })
}

export function refusal(settings: Partial<RuleConfig>, sent: Sent): string {
  const result = identified(settings, sent)
  return result.kind === 'refused' ? result.problem.name : result.kind
}

/** An independent text of a value: types told apart, objects without order, -0 as 0. */
export function shape(value: unknown): string {
  if (value instanceof Uint8Array) return `bytes${JSON.stringify([...value])}`
  if (Array.isArray(value)) return `[${value.map(shape).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'undefined'
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${shape(member)}`)
  return `{${members.toSorted().join(',')}}`
}
