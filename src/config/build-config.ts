// A checked document becomes the configuration: every default filled in, every file's path made absolute, all of it frozen.
import { resolveFrom } from './config-files.ts'
import type { GatewayConfig, JwtConfig, RuleConfig } from './gateway-config.ts'
import { viewRules, type RuleView } from './rule-view.ts'
import { ruleSchema, type CheckedConfig, type PartSetting, type UpstreamSetting } from './schema.ts'
import type { StepSetting } from './step-schema.ts'

const MINUTE = 60_000
const MIB = 1024 ** 2

export function buildConfig(
  checked: CheckedConfig,
  root: unknown,
  { configFile, previous }: { readonly configFile: string | undefined; readonly previous: GatewayConfig['previous'] },
): GatewayConfig {
  if (checked.upstream === undefined) throw new Error('a configuration without upstream was not refused')
  const finish = (upstream: UpstreamSetting): UpstreamSetting => ({
    connectTimeout: 5000,
    ...upstream,
    url: new URL(upstream.url).origin,
    ...(upstream.ca === undefined ? {} : { ca: resolveFrom(configFile, upstream.ca) }),
  })
  const upstream = finish(checked.upstream)
  return deepFreeze({
    listen: checked.listen,
    admin: checked.admin,
    adminToken: checked.adminToken,
    upstream,
    store: checked.store,
    storeTimeout: checked.storeTimeout,
    replicasAck: checked.replicasAck,
    strict: checked.strict,
    spool: checked.spool === 'off' ? undefined : { folder: checked.spool.folder, maxBytes: checked.spool.maxSize },
    secret: checked.secret,
    statusPath: checked.statusPath,
    cors: checked.cors,
    trustProxy: checked.trustProxy,
    ...(checked.jwt && { jwt: withKeyFile(checked.jwt, configFile) }),
    tls: checked.tls && { cert: resolveFrom(configFile, checked.tls.cert), key: resolveFrom(configFile, checked.tls.key) },
    retryStorm: checked.retryStorm,
    shutdownGrace: checked.shutdownGrace,
    rollout: checked.rollout,
    rules: viewRules(root).map((view) => buildRule(view, { upstream, finish, configFile })),
    previous,
  })
}

function withKeyFile(jwt: JwtConfig, configFile: string | undefined): JwtConfig {
  return jwt.publicKeyFile === undefined ? jwt : { ...jwt, publicKeyFile: resolveFrom(configFile, jwt.publicKeyFile) }
}

interface Surroundings {
  readonly upstream: UpstreamSetting
  readonly finish: (upstream: UpstreamSetting) => UpstreamSetting
  readonly configFile: string | undefined
}

/** The rule is checked once more, now with the defaults under it, so that every value comes from the schema. */
function buildRule(view: RuleView, { upstream, finish, configFile }: Surroundings): RuleConfig {
  const { match, owner, ...rule } = ruleSchema.parse({ inFlight: {}, replayHeaders: {}, ...view.settings })
  if (rule.inFlight === undefined || rule.replayHeaders === undefined) throw new Error('unreachable: both were given')
  return {
    name: rule.name,
    match: { methods: match.methods, paths: listOf(match.path), ...(match.where === undefined ? {} : { where: valueLists(match.where) }) },
    upstream: rule.upstream === undefined ? upstream : finish(rule.upstream),
    owner: owner === 'none' ? owner : owner === undefined ? ['header.authorization'] : listOf(owner),
    fingerprint: Object.fromEntries(
      Object.entries(rule.fingerprint ?? {}).map(([name, part]) => [name, withPluginFiles(part, configFile)]),
    ),
    scope: rule.scope ?? 'operation',
    digest: rule.digest,
    digestIgnore: rule.digestIgnore ?? [],
    ...(rule.retryEvidence !== undefined && { retryEvidence: rule.retryEvidence }),
    inFlight: rule.inFlight,
    errors: rule.errors ?? 'problem',
    protocol: rule.protocol ?? 'http',
    outcome: rule.outcome ?? {},
    replayHeaders: rule.replayHeaders,
    onFailed: rule.onFailed ?? 'retry',
    onUnknown: rule.onUnknown ?? 'refuse',
    ...(rule.breaker !== undefined && { breaker: rule.breaker }),
    ...(rule.maxInFlightPerOwner !== undefined && { maxInFlightPerOwner: rule.maxInFlightPerOwner }),
    ...(rule.exclusive !== undefined && { exclusive: rule.exclusive }),
    ...(rule.alsoUnique !== undefined && { alsoUnique: rule.alsoUnique }),
    onMissing: rule.onMissing ?? 'refuse',
    onStoreError: rule.onStoreError ?? 'refuse',
    onDisconnect: rule.onDisconnect ?? 'continue',
    async: rule.async ?? false,
    ...(rule.completeOn !== undefined && { completeOn: listOf(rule.completeOn) }),
    streamIds: rule.streamIds ?? false,
    streamError: rule.streamError ?? 'reset',
    ...(rule.heartbeat !== undefined && { heartbeat: rule.heartbeat }),
    ...(rule.tombstone !== undefined && { tombstone: rule.tombstone }),
    ttl: rule.ttl ?? 24 * 60 * MINUTE,
    lease: rule.lease ?? MINUTE / 2,
    timeout: rule.timeout ?? 10 * MINUTE,
    maxBody: rule.maxBody ?? MIB,
    maxResult: rule.maxResult ?? 8 * MIB,
    mode: rule.mode ?? 'enforce',
  }
}

function withPluginFiles(part: PartSetting, configFile: string | undefined): PartSetting {
  if (typeof part === 'string' || 'value' in part || part.apply === undefined) return part
  const located = (step: StepSetting): StepSetting =>
    typeof step === 'string' || step.plugin === undefined ? step : { plugin: resolveFrom(configFile, step.plugin) }
  return { ...part, apply: part.apply.map(located) }
}

function valueLists<V>(where: Readonly<Record<string, V | readonly V[]>>): Record<string, readonly V[]> {
  return Object.fromEntries(Object.entries(where).map(([selector, values]) => [selector, [values].flat() as readonly V[]]))
}

function listOf(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return []
  return typeof value === 'string' ? [value] : value
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const inner of Object.values(value)) deepFreeze(inner)
  }
  return value
}
