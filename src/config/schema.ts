// The configuration, once: types, checks, JSON Schema and reference are all made from this file.
import { z } from 'zod'
import { ERROR_DIALECTS } from '../model/problems.ts'
import * as value from './schema-values.ts'
import { alsoUnique } from './also-unique-schema.ts'
import { exclusive } from './exclusive-schema.ts'
import { statusPattern } from './status-schema.ts'
import { step } from './step-schema.ts'
import { breaker, onUnknown } from './unknown-schema.ts'

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

const trust = z.number().min(0).max(1).default(1).describe('How well it names the thing, from 0 to 1; see minTrust. Default: 1')

const selectors = z.union([
  value.selector,
  z
    .array(
      z.union([
        value.selector,
        z.strictObject({ select: value.selector.describe('The selector'), trust }),
        z.strictObject({
          all: z.array(value.selector).min(2).describe('Selectors that count together; present where all of them are'),
          trust,
        }),
      ]),
    )
    .min(1),
])

const constant = z.union([z.string(), z.number(), z.boolean()])

const part = z
  .union([
    value.selector,
    z.strictObject({
      from: selectors.describe('One selector, or a list of which the first present wins'),
      apply: z.array(step).optional().describe('Steps that bring different spellings of one value together, in order'),
      minTrust: z.number().min(0).max(1).optional().describe('Sources with less trust do not count. Default: 0'),
      optional: z.boolean().default(false).describe('The part may be missing'),
      default: constant.optional().describe('Stands in where the part is missing'),
    }),
    z.strictObject({ value: constant.describe('A constant') }),
  ])
  .describe('One named part of the fingerprint: a selector, { from: selector or list, apply, optional, default }, or { value: constant }')

const oneOrMore = z
  .union([z.string().min(1), z.array(z.string().min(1)).min(1)])
  .transform((given) => (typeof given === 'string' ? [given] : given))

const jwt = z
  .strictObject({
    jwks: value.jwksUrl.optional().describe("URL of the issuer's keys (JWKS); fetched at need, kept, and fetched anew for an unknown key"),
    publicKeyFile: z.string().min(1).optional().describe('Public key (PEM file, from the folder of this file)'),
    secret: z
      .string()
      .min(32, 'expected a secret of at least 32 characters')
      .optional()
      .describe('Shared secret, for HS256, HS384 and HS512'),
    issuer: oneOrMore.optional().describe('Who may have issued it (iss), one or a list'),
    audience: oneOrMore.optional().describe('For whom it must be meant (aud), one or a list'),
  })
  .superRefine(({ jwks, publicKeyFile, secret }, context) => {
    if (context.issues.length > 0 || [jwks, publicKeyFile, secret].filter((key) => key !== undefined).length === 1) return
    context.addIssue({ code: 'custom', message: 'expected exactly one of jwks, publicKeyFile and secret' })
  })
  .describe('How bearer tokens are verified, for the selectors jwt.<claim>')

const partName = z.string().regex(/^\p{L}[\p{L}\p{N}_.-]*$/u, 'expected a name of letters, digits, and _ . -')

const outcome = z
  .strictObject({
    completed: z.array(statusPattern).optional().describe('Statuses that are the result, kept and replayed. Default: 2xx, 3xx, 4xx'),
    failed: z
      .array(statusPattern)
      .optional()
      .describe('Statuses after which running again is safe. Default: 401, 403, 408, 409, 425, 429, 5xx'),
    unknown: z.array(statusPattern).optional().describe('Statuses after which nobody knows whether it happened. Default: 504'),
  })
  .describe('What an upstream status means; a single code wins over its class')

const inFlight = z
  .strictObject({
    answer: z
      .enum(['refuse', 'wait', 'attach'])
      .default('refuse')
      .describe(
        'What a duplicate gets while the first runs: a refusal at once, the result as soon as it is there, or the answer as far as it has come and then live',
      ),
    status: z
      .union([z.literal(425), z.literal(409), z.literal(423), z.literal(429), z.literal(503)])
      .default(425)
      .describe('The status of the refusal'),
    retryAfter: z
      .union([z.literal('auto'), value.duration('A fixed time')])
      .prefault('auto')
      .describe('When a refused duplicate may come again. auto: estimated from recent executions of the rule; else a duration'),
    maxWait: value.duration('How long a duplicate may be held', { least: '0ms' }).prefault('30s'),
  })
  .describe('Duplicates that come while the first still runs')

const replayHeaders = z
  .strictObject({
    add: z.array(value.headerName).default([]).describe('Headers to keep although they are not kept by default'),
    drop: z.array(value.headerName).default([]).describe('Headers not to keep'),
  })
  .describe('Which response headers a replay carries')

const upstream = z
  .union([
    value.upstreamUrl.transform((url): UpstreamSetting => ({ url })),
    z.strictObject({
      url: value.upstreamUrl.describe('Where it listens: http://host[:port]'),
      connectTimeout: value.duration('How long a connection may take to come about. Default: 5s').optional(),
      connections: z.int().min(1).optional().describe('Most connections at once; without it as many as are needed'),
      ca: z.string().min(1).optional().describe('File with the certificates to trust (PEM), from the folder of this file'),
    }),
  ])
  .describe('The API behind the gateway')

/** Every rule setting but name and match; `defaults` takes the same. load.ts fills in what neither says. */
const ruleSettings = {
  upstream: upstream.optional(),
  owner: z
    .union([z.literal('none'), value.ownerSelector, z.array(value.ownerSelector).min(1)])
    .optional()
    .describe('Whose record it is; of several, the first present; none: everybody shares. Default: header.authorization'),
  fingerprint: z.record(partName, part).optional().describe('The named parts that make two requests the same'),
  scope: z
    .enum(['operation', 'rule'])
    .optional()
    .describe(
      'operation: method and path are part of the fingerprint; rule: they are not, for one fact that several routes reach. Default: operation',
    ),
  digest: z
    .array(value.selector)
    .optional()
    .describe('What must also agree when the fingerprint comes again. Default: query and body when a part is named key, else nothing'),
  digestIgnore: z.array(value.ignoredSelector).optional().describe('What of the digest may differ'),
  retryEvidence: value.selector
    .optional()
    .describe('Where clients without a key say how often they have tried: a first try (0) that meets a result executes anew'),
  inFlight: inFlight.optional(),
  errors: z
    .enum(ERROR_DIALECTS)
    .optional()
    .describe("The form of the gateway's own error bodies: the one that the rule's clients show to their users. Default: problem"),
  protocol: z
    .enum(['http', 'jsonrpc'])
    .optional()
    .describe(
      "jsonrpc: a replay carries the requester's own id and progress token (JSON-RPC 2.0, MCP), in JSON and in events. Default: http",
    ),
  outcome: outcome.optional(),
  onFailed: z
    .enum(['retry', 'replay'])
    .optional()
    .describe('A duplicate of a failed execution: executes again, or gets the stored failure. Default: retry'),
  onUnknown: onUnknown.optional(),
  breaker: breaker.optional(),
  maxInFlightPerOwner: z
    .int()
    .min(1)
    .optional()
    .describe('Most executions in flight at once for one owner, counted in each process; more get 429. Default: no limit'),
  exclusive: exclusive.optional(),
  alsoUnique: alsoUnique.optional(),
  onMissing: z
    .enum(['refuse', 'pass', 'skip'])
    .optional()
    .describe('A required part is missing: 400, forwarded unguarded, or left out. Default: refuse'),
  onStoreError: z.enum(['refuse', 'pass']).optional().describe('The store is out of reach: 503, or forwarded unguarded. Default: refuse'),
  onDisconnect: z
    .enum(['continue', 'abort'])
    .optional()
    .describe('The client has gone: the execution runs on, or is cancelled. Default: continue'),
  async: z
    .boolean()
    .optional()
    .describe('Prefer: respond-async is honoured: 202 at once, and the execution runs in the background. Default: false'),
  completeOn: z
    .union([value.lineOfText, z.array(value.lineOfText).min(1)])
    .optional()
    .describe(
      'Text that the last event of a stream must hold in its data, or be named (the last line of NDJSON must hold it); else it counts as broken. Default: a clean end is enough',
    ),
  streamIds: z
    .boolean()
    .optional()
    .describe('Events that have no id get one, by which a client can resume (Last-Event-ID). Default: false'),
  streamError: z
    .enum(['reset', 'event'])
    .optional()
    .describe('An event stream that breaks off: only the connection breaks, or an error event says why first. Default: reset'),
  heartbeat: value.duration('An event stream that is silent for so long gets a comment. Default: never').optional(),
  ttl: z
    .union([z.literal('forever').transform(() => Number.POSITIVE_INFINITY), value.age('A duration')])
    .optional()
    .describe('How long a result is kept, from the first request on; a duration or forever. Default: 24h'),
  tombstone: value
    .age('For how long after its ttl a completed request is still refused (410), without its result being kept. Default: not at all')
    .optional(),
  lease: value.duration('How soon a dead gateway is noticed. Default: 30s').optional(),
  timeout: value.duration('How long an execution may take. Default: 10m').optional(),
  maxBody: value.size('Largest request body. Default: 1MiB').optional(),
  maxResult: value.size('Largest response body that is kept. Default: 8MiB').optional(),
  replayHeaders: replayHeaders.optional(),
  mode: z
    .enum(['enforce', 'shadow', 'off'])
    .optional()
    .describe('shadow: requests pass unguarded, and what the rule would have done is counted and logged. off: they pass. Default: enforce'),
}

const match = z.strictObject({
  methods: z.array(z.enum(methods)).min(1).default(['POST', 'PATCH']).describe('Methods to guard'),
  path: z
    .union([value.pathPattern, z.array(value.pathPattern).min(1)])
    .optional()
    .describe("Fastify's route patterns, one or a list: /tasks/:taskId/sections, /files/*. Default: every path"),
  where: z
    .record(value.selector, z.union([constant, z.array(constant).min(1)]))
    .optional()
    .describe('What the request must say besides, all of it: selector → value, or a list of values of which one must be there'),
})

export const ruleSchema = z.strictObject({
  name: z
    .string({ error: 'expected a name' })
    .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]*$/, 'expected a name of letters, digits, and _ . -')
    .describe('Names the rule in logs, and is part of every fingerprint'),
  match: match.prefault({}).describe('Which requests it guards'),
  ...ruleSettings,
})

const SPOOL_FOLDER = './spool'
const SPOOL_BYTES = 256 * 1024 ** 2

export const configSchema = z.strictObject({
  listen: value
    .address('Where clients connect: host:port, :port (every interface) or a port (this machine only)')
    .prefault('127.0.0.1:8080'),
  admin: value.address('Where health is served, never the traffic port: host:port, :port or a port').prefault('127.0.0.1:9080'),
  adminToken: z
    .string()
    .refine((token) => token === '' || token.length >= 16, 'expected a token of at least 16 characters')
    .default('')
    .describe('Bearer token that the admin port asks for, health excepted. Default: none'),
  upstream: upstream.optional(),
  store: value.storeUrl
    .prefault('lmdb:./data')
    .describe(
      'Where records live: lmdb:<folder>, redis://host, redis+sentinel://host,host/name, redis+cluster://host,host (rediss… with TLS), postgres://user@host/database, memory',
    ),
  storeTimeout: value.duration('How long the store may take to answer').prefault('1s'),
  replicasAck: z
    .int()
    .min(0)
    .max(10)
    .default(0)
    .describe('So many replicas of a Redis must have a claim before it is used, and a result before its end is told'),
  strict: z.boolean().default(false).describe('Start refuses where it would warn: of the configuration, and of what the store may forget'),
  spool: z
    .union([
      z.literal('off'),
      z
        .string()
        .min(1)
        .transform((folder) => ({ folder, maxSize: SPOOL_BYTES })),
      z.strictObject({
        folder: z.string().min(1).default(SPOOL_FOLDER).describe('Where it lies'),
        maxSize: value.size('What it may hold, all in all').prefault('256MiB'),
      }),
    ])
    .prefault(SPOOL_FOLDER)
    .describe(
      'Folder on this machine for results that redis or postgres cannot take in time; off: they wait in memory. Default: ./spool, of 256MiB',
    ),
  secret: z.string().default('').describe('Keys the fingerprints; made and kept in the store when empty'),
  statusPath: z
    .string()
    .regex(/^(?:\/[A-Za-z0-9_-]+)+$/, 'expected a path like /status')
    .default('/status')
    .describe('Prefix of the status pages'),
  cors: z
    .strictObject({ origins: z.array(value.origin).min(1).describe('Origins like https://app.example') })
    .optional()
    .describe("Origins whose pages may read the gateway's own answers and replays"),
  trustProxy: z.array(value.trustedBlock).optional().describe('Addresses or blocks (CIDR) of proxies whose X-Forwarded-For is believed'),
  jwt: jwt.optional(),
  tls: z
    .strictObject({
      cert: z.string().min(1).describe('Certificate chain (PEM file, from the folder of this file)'),
      key: z.string().min(1).describe('Private key (PEM file, from the folder of this file)'),
    })
    .optional()
    .describe('Certificate and key files (PEM) of the traffic port'),
  retryStorm: z
    .strictObject({
      uses: z.int().min(1).max(100).default(3).describe('More uses of one fingerprint than these. Default: 3'),
      within: value.duration('In so long a time').prefault('5m'),
    })
    .prefault({})
    .describe('When a fingerprint that is asked for again and again is counted and logged as a retry storm'),
  shutdownGrace: value.duration('How long running executions may take to finish after SIGTERM', { least: '0ms' }).prefault('30s'),
  rollout: value
    .duration('Within how long of each other the gateways on one store take up a changed file. Default: 5m', { least: '0ms' })
    .prefault('5m'),
  previous: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe('Files as this one was before, the latest first: requests are looked for under the names that those give them, too'),
  include: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe("Files whose rules come after this file's own (from the folder of this file); they hold rules, and defaults for them"),
  defaults: z.strictObject(ruleSettings).prefault({}).describe('Settings for every rule that does not say otherwise'),
  rules: z
    .array(ruleSchema)
    .min(1, 'expected at least one rule; leave rules out for the built-in one')
    .optional()
    .describe('The first that matches guards the request; without rules, POST and PATCH with an Idempotency-Key are guarded'),
})

export type CheckedConfig = z.output<typeof configSchema>
export type CheckedRule = NonNullable<CheckedConfig['rules']>[number]
export type PartSetting = NonNullable<CheckedRule['fingerprint']>[string]
export type UpstreamSetting = {
  url: string
  connectTimeout?: number | undefined
  connections?: number | undefined
  ca?: string | undefined
}
