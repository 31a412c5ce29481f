// The configuration, once: types, checks, JSON Schema and reference are all made from this file.
import { z } from 'zod'
import { DURATION_PATTERN, SIZE_PATTERN, parseDuration, parseSize } from './units.ts'

const duration = (description: string) =>
  z
    .string()
    .regex(DURATION_PATTERN, 'expected a duration: a number and one of ms, s, m, h, d (like 30s)')
    .transform(parseDuration)
    .describe(description)

const size = (description: string) =>
  z
    .string()
    .regex(SIZE_PATTERN, 'expected a size: a number and one of B, KiB, MiB, GiB, kB, MB, GB (like 1MiB)')
    .transform(parseSize)
    .describe(description)

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

const selector = z
  .string()
  .min(1)
  .describe(
    'Where a value comes from: body, body.<path>, header.<name>, query, query.<name>, path.<param>, cookie.<name>, method, url.path, host, ip',
  )

const selectors = z.union([selector, z.array(selector).min(1)])

const constant = z.union([z.string(), z.number(), z.boolean()])

const part = z
  .union([
    selector,
    z.strictObject({
      from: selectors.describe('One selector, or a list of which the first present wins'),
      optional: z.boolean().default(false).describe('The part may be missing'),
      default: constant.optional().describe('Stands in where the part is missing'),
    }),
    z.strictObject({ value: constant.describe('A constant') }),
  ])
  .describe('One named part of the fingerprint')

const statusPattern = z.union([z.int().min(200).max(599), z.enum(['2xx', '3xx', '4xx', '5xx'])])

const outcome = z
  .strictObject({
    completed: z.array(statusPattern).optional().describe('Statuses that are the result, kept and replayed'),
    failed: z.array(statusPattern).optional().describe('Statuses after which running again is safe'),
    unknown: z.array(statusPattern).optional().describe('Statuses after which nobody knows whether it happened'),
  })
  .describe('What an upstream status means; a single code wins over its class')

const inFlight = z
  .strictObject({
    answer: z.enum(['refuse', 'wait']).default('refuse').describe('What a duplicate gets while the first runs'),
    status: z
      .union([z.literal(425), z.literal(409), z.literal(423), z.literal(429), z.literal(503)])
      .default(425)
      .describe('The status of the refusal'),
    retryAfter: z
      .union([z.literal('auto'), z.string().regex(DURATION_PATTERN).transform(parseDuration)])
      .default('auto')
      .describe('auto: estimated from recent executions of the rule; else a duration'),
    maxWait: duration('How long a duplicate may be held').default(30_000),
  })
  .describe('Duplicates that come while the first still runs')

const replayHeaders = z
  .strictObject({
    add: z.array(z.string()).default([]).describe('Headers to keep although they are not kept by default'),
    drop: z.array(z.string()).default([]).describe('Headers not to keep'),
  })
  .describe('Which response headers a replay carries')

const upstreamUrl = z.string().regex(/^https?:\/\/[^/?#\s]+\/?$/, 'expected http://host[:port] or https://host[:port], without a path')

const upstream = z
  .union([
    upstreamUrl.transform((url) => ({ url })),
    z.strictObject({
      url: upstreamUrl,
      connectTimeout: duration('How long a connection may take').optional(),
      connections: z.int().min(1).optional().describe('Most connections at once; without it as many as are needed'),
      ca: z.string().optional().describe('File with the certificates to trust (PEM)'),
    }),
  ])
  .describe('The API behind the gateway')

/** Every rule setting but name and match; `defaults` takes the same. */
const ruleSettings = {
  upstream: upstream.optional(),
  owner: z
    .union([z.literal('none'), selectors])
    .optional()
    .describe('Whose record it is; several: the first present. Default: header.authorization'),
  fingerprint: z.record(z.string(), part).optional().describe('The named parts that make two requests the same'),
  digest: z
    .array(selector)
    .optional()
    .describe('What must also agree when the fingerprint comes again. Default: query and body when a part is the key'),
  digestIgnore: z.array(selector).optional().describe('What of the digest may differ'),
  inFlight: inFlight.optional(),
  outcome: outcome.optional(),
  onFailed: z
    .enum(['retry', 'replay'])
    .optional()
    .describe('A duplicate of a failed execution: executes again, or gets the stored failure. Default: retry'),
  onUnknown: z.enum(['refuse', 'retry']).optional().describe('A duplicate of an unknown outcome: 409, or executes again. Default: refuse'),
  onMissing: z
    .enum(['refuse', 'pass', 'skip'])
    .optional()
    .describe('A required part is missing: 400, forwarded unguarded, or left out. Default: refuse'),
  onStoreError: z.enum(['refuse', 'pass']).optional().describe('The store is out of reach: 503, or forwarded unguarded. Default: refuse'),
  onDisconnect: z
    .enum(['continue', 'abort'])
    .optional()
    .describe('The client has gone: the execution runs on, or is cancelled. Default: continue'),
  ttl: z
    .union([z.literal('forever').transform(() => Number.POSITIVE_INFINITY), duration('')])
    .optional()
    .describe('How long a result is kept, from the first request on. Default: 24h'),
  lease: duration('How soon a dead gateway is noticed. Default: 30s').optional(),
  timeout: duration('How long an execution may take. Default: 10m').optional(),
  maxBody: size('Largest request body. Default: 1MiB').optional(),
  maxResult: size('Largest response body that is kept. Default: 8MiB').optional(),
  replayHeaders: replayHeaders.optional(),
  mode: z.enum(['enforce', 'off']).optional().describe('off: the rule matches, and its requests pass unguarded. Default: enforce'),
}

const match = z.strictObject({
  methods: z.array(z.enum(methods)).min(1).default(['POST', 'PATCH']).describe('Methods to guard'),
  path: z
    .union([z.string(), z.array(z.string()).min(1)])
    .optional()
    .describe("Fastify's route patterns: /tasks/:taskId/sections, /files/*. Default: every path"),
})

const rule = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]*$/, 'expected letters, digits, and _ . -')
    .describe('Names the rule in logs, and is part of every fingerprint'),
  match: match.prefault({}).describe('Which requests it guards'),
  ...ruleSettings,
})

export const configSchema = z.strictObject({
  listen: z.string().default('127.0.0.1:8080').describe('Where clients connect: host:port'),
  admin: z.string().default('127.0.0.1:9080').describe('Where health is served: host:port; never the traffic port'),
  upstream: upstream.optional(),
  store: z.string().default('lmdb:./data').describe('Where records live: lmdb:<folder>, redis://…, rediss://…, memory:'),
  storeTimeout: duration('How long the store may take to answer').default(1000),
  secret: z.string().default('').describe('Keys the fingerprints; made and kept in the store when empty'),
  statusPath: z
    .string()
    .regex(/^\/[A-Za-z0-9/_-]*[A-Za-z0-9_-]$/, 'expected a path like /status')
    .default('/status')
    .describe('Prefix of the status pages'),
  cors: z
    .strictObject({ origins: z.array(z.string()).min(1) })
    .optional()
    .describe("Origins whose pages may read the gateway's own answers and replays"),
  trustProxy: z.array(z.string()).optional().describe('Addresses (CIDR) of proxies whose X-Forwarded-For is believed'),
  tls: z.strictObject({ cert: z.string(), key: z.string() }).optional().describe('Certificate and key files (PEM) of the traffic port'),
  shutdownGrace: duration('How long running executions may take to finish after SIGTERM').default(30_000),
  defaults: z.strictObject(ruleSettings).prefault({}).describe('Settings for every rule that does not say otherwise'),
  rules: z
    .array(rule)
    .optional()
    .describe('The first that matches guards the request; without rules, POST and PATCH with an Idempotency-Key are guarded'),
})

export type ConfigInput = z.input<typeof configSchema>
export type CheckedConfig = z.output<typeof configSchema>
export type CheckedRule = NonNullable<CheckedConfig['rules']>[number]
export type PartSetting = NonNullable<CheckedRule['fingerprint']>[string]
export type UpstreamSetting = {
  url: string
  connectTimeout?: number | undefined
  connections?: number | undefined
  ca?: string | undefined
}
