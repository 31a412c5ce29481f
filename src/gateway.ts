// Composition root: the only file that knows every part.
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import type { Log } from './observe/log.ts'
import { requestLog } from './observe/request-log.ts'
import { GatewayMetrics } from './observe/metrics.ts'
import { flushTraces, openTracing } from './observe/trace.ts'
import { createAdminServer } from './admin/admin-server.ts'
import type { Address, GatewayConfig } from './config/gateway-config.ts'
import type { LoadedConfig } from './config/load.ts'
import { Reloader, type Reloaded } from './config/reloader.ts'
import { shownConfig } from './config/shown-config.ts'
import type { Rule } from './fingerprint/compile-rule.ts'
import { countSources, partsWithChoice } from './fingerprint/count-sources.ts'
import { MOST_VERSIONS, RuleHistory } from './fingerprint/rule-history.ts'
import { compileRuleSet, type RuleSet } from './fingerprint/rule-set.ts'
import { loadStepTools } from './fingerprint/steps/tools.ts'
import { corsHeaders } from './http/cors.ts'
import { explainTold } from './http/explain-told.ts'
import { createTokenVerifier } from './http/verify-token.ts'
import type { ProxyRoutes } from './http/proxy-routes.ts'
import { createServer } from './http/server.ts'
import { Answers } from './idempotency/answers.ts'
import { Census } from './idempotency/census.ts'
import { Durations } from './idempotency/durations.ts'
import { History } from './idempotency/history.ts'
import { Inquiries } from './idempotency/inquiries.ts'
import { Limits } from './idempotency/limits.ts'
import { LiveExecutions } from './idempotency/live-executions.ts'
import { SpooledResults } from './idempotency/spooled-results.ts'
import { RetryStorms } from './idempotency/retry-storms.ts'
import { SecretKeys } from './idempotency/secret-keys.ts'
import { TakeBacks } from './idempotency/take-backs.ts'
import { faultLog } from './stores/fault-log.ts'
import { MeasuredStore } from './stores/measured-store.ts'
import { needsSpool, openSpool } from './stores/open-spool.ts'
import { openStore } from './stores/open-store.ts'
import type { Store } from './stores/store.ts'
import { Upstreams } from './upstream/upstreams.ts'

export interface Gateway {
  /** `http://host:port` of the traffic port, with the port it really got. */
  readonly url: string
  readonly adminUrl: string
  /** Reads the configuration anew and takes it up whole, between two requests, or not at all. Never rejects. */
  reload(trigger: string): Promise<Reloaded>
  /** The files that it is read from. */
  configFiles(): readonly string[]
  /** No new work; running executions finish within `shutdownGrace`, the rest is settled as far as it is known. */
  close(): Promise<void>
}

export interface GatewayOptions {
  /** How the store that the configuration names is opened: whoever embeds a gateway may bring a store of its own. */
  readonly open?: typeof openStore
  /** Reads the configuration again; without it, what the gateway was started with stays. */
  readonly load?: () => LoadedConfig
}

type StartedWith = GatewayConfig | LoadedConfig

export async function startGateway(started: StartedWith, log: Log, { open = openStore, load }: GatewayOptions = {}): Promise<Gateway> {
  const loaded = 'config' in started ? started : { config: started, version: UNNAMED, files: [], variables: new Map<string, string>() }
  const { config } = loaded
  const first = await compileVersions(config)
  const warnings = new StartWarnings(log, config.strict)
  const { storeTimeout: timeoutMs, replicasAck } = config
  const opened = await open(config.store, { timeoutMs, replicasAck, warn: (message) => warnings.add(message) })
  const upstreams = new Upstreams()
  const live = new LiveExecutions()
  const metrics = new GatewayMetrics(measured(first.set.rules))
  const tellFault = faultLog((message) => log.warn(message))
  const history = new History()
  const census = new Census(opened, (count) => metrics.unknown(count))
  const store = new MeasuredStore(opened, {
    tell: (verb, ms, failed) => metrics.store(verb, ms, failed),
    onFault: tellFault,
    witness: {
      acquired: (request, claim) => {
        history.acquired(request, claim)
        census.acquired(request, claim)
      },
      settled: (request) => {
        history.settled(request)
        census.settled(request)
      },
      removed: ({ fingerprint }) => census.forget(fingerprint),
    },
  })
  let draining = false
  const secret = new SecretKeys(store, config.secret)
  const durations = new Durations()
  const tracing = openTracing()
  const onBreaker = (rule: string, state: string): void => log.warn({ rule }, `the breaker is ${state}`)
  const spooled = new SpooledResults({ spool: await spoolOf(config, warnings), store, log, metrics })
  const shared = {
    store,
    upstreams,
    live,
    answers: new Answers(store),
    log,
    metrics,
    durations,
    inquiries: new Inquiries(),
    takeBacks: new TakeBacks(store),
    spooled,
    storms: new RetryStorms(config.retryStorm, ({ rule, fingerprint }) => {
      metrics.rule(rule).storm()
      log.warn({ rule, fingerprint, ...config.retryStorm }, 'a retry storm: one fingerprint is asked for again and again')
    }),
    storeTimeout: config.storeTimeout,
  }
  const versions = new RuleHistory(first.set, { overlapMs: overlapOf(config), earlier: first.earlier })
  /** For who asks by a record's rule: also those of versions before, where the current one has none of that name. */
  const byName = new Map<string, Rule>()
  let proxy = proxyFor(config, first.set)
  nameRules()
  const reloader = new Reloader(loaded, {
    load: load ?? (() => ({ ...loaded, warnings: [], text: '' })),
    apply,
    onReload: ({ kind, applied }) => {
      metrics.configReloaded(kind)
      metrics.configApplied(applied)
    },
    log,
  })
  metrics.configApplied(reloader.applied)
  const traffic = await createServer(() => proxy, { trustProxy: config.trustProxy, tls: config.tls })
  const admin = createAdminServer({
    health: { checkStore: () => checkStore(store, secret), draining: () => draining },
    measures: metrics,
    records: {
      store,
      rules: byName,
      keys: () => secret.keys,
      log,
      metrics,
      history,
      explain: (request, keys) => explainTold(versions.current.rules, request, { keys, verify: proxy.verifyToken }),
    },
    config: {
      applied: () => reloader.applied,
      failure: () => reloader.failure,
      shown: () => shownConfig(reloader.config, reloader.variables),
      versions: () => ({ others: versions.others.length, claimedAnewInMs: versions.claimedAnewInMs() }),
      reload: (trigger) => reloader.reload(trigger),
    },
    overview: {
      rules: () => versions.current.rules.map((rule) => rule.config),
      requests: (rule) => metrics.requestsOf(rule),
      live,
      durations,
      census,
      storms: shared.storms,
    },
    token: config.adminToken,
  })
  try {
    await secret.tryOnce()
    census.start()
    await warnings.refuse(store)
    const adminUrl = await listen('admin', admin, config.admin)
    const url = await listen('listen', traffic, config.listen)
    return { url, adminUrl, close, reload: (trigger) => reloader.reload(trigger), configFiles: () => reloader.files }
  } catch (error) {
    // A port that is taken: what is open already would keep the process from ending.
    await close()
    throw error
  }

  /** What a request meets that comes while these rules are the current ones; it keeps it to its end. */
  function proxyFor(next: GatewayConfig, { rules, routes }: RuleSet, before?: ProxyRoutes): ProxyRoutes {
    const sameTokens = before !== undefined && JSON.stringify(next.jwt) === JSON.stringify(reloader.config.jwt)
    return {
      gate: { ...shared, limits: new Limits(next.rules, { durations, onBreaker, before: before?.gate.limits }) },
      routes,
      rules: byName,
      otherVersions: (rule) => versions.rulesNamed(rule),
      versions: () => versions.versions(),
      watches: watchesOf(rules, metrics),
      keys: () => secret.keys,
      upstream: next.upstream,
      statusPath: next.statusPath,
      cors: corsHeaders(next.cors?.origins),
      verifyToken: sameTokens ? before.verifyToken : next.jwt && createTokenVerifier(next.jwt),
      draining: () => draining,
      log,
      tracing,
      logRequest: requestLog(log),
    }
  }

  async function apply(next: GatewayConfig): Promise<void> {
    const { set, earlier } = await compileVersions(next)
    if (!versions.mayBegin(set)) throw new Error(`records of ${MOST_VERSIONS} other versions of the rules may live: ask again later`)
    const changed = set.derivation !== versions.current.derivation
    if (changed && isCluster(next)) throw new Error(ONE_NAME)
    metrics.follow(measured(set.rules))
    const made = proxyFor(next, set, proxy)
    // Nothing below can fail, and nothing comes in between.
    versions.begin(set, { overlapMs: overlapOf(next), earlier })
    upstreams.keepOnly([next.upstream, ...next.rules.map(({ upstream }) => upstream)])
    proxy = made
    nameRules()
    if (changed)
      log.info({ seconds: Math.ceil(versions.claimedAnewInMs() / 1000) }, 'rules name requests anew; until then in the old names')
  }

  function nameRules(): void {
    byName.clear()
    for (const { rules } of [...versions.others, versions.current]) for (const rule of rules) byName.set(rule.config.name, rule)
  }

  async function close(): Promise<void> {
    draining = true
    census.stop()
    const stopped = traffic.close()
    await live.drain(config.shutdownGrace, { also: stopped, lastMs: config.storeTimeout + 500 })
    // The answers to whatever was given up get out.
    await nextTurn()
    // Whatever is open now is beyond the grace: it ends broken, never as if it were whole.
    traffic.server.closeAllConnections()
    await stopped
    await admin.close()
    await upstreams.destroy()
    secret.stop()
    await spooled.close()
    await store.close()
    if (tracing !== undefined) await Promise.race([flushTraces(), pause(FLUSH_TRACES_MS, undefined, { ref: false })])
  }
}

async function spoolOf({ spool, store }: GatewayConfig, warnings: StartWarnings) {
  if (spool === undefined || !needsSpool(store)) return undefined
  return openSpool({ ...spool, store, warn: (message) => warnings.add(message) })
}

/** Of a configuration that came from no file. */
const UNNAMED = '000000000000'

/** The rules, and those of the files that the configuration names as earlier ones, the oldest first. */
async function compileVersions(config: GatewayConfig): Promise<{ set: RuleSet; earlier: RuleSet[] }> {
  const { rules, previous } = config
  if (previous.length > 0 && isCluster(config)) throw new Error(ONE_NAME)
  const [set, ...earlier] = await Promise.all([rules, ...previous].map(async (each) => compileRuleSet(each, await loadStepTools(each))))
  return { set: set!, earlier: earlier.toReversed() }
}

const ONE_NAME = 'on a Redis Cluster a request is looked for under one name only: these rules give requests other names than those before'

/** There the names of a request lie on several servers, and no step looks at all of them. */
function isCluster({ store }: GatewayConfig): boolean {
  return /^rediss?\+cluster:/.test(store)
}

/** Nobody shares what lies in memory. */
function overlapOf({ store, rollout }: GatewayConfig): number {
  return store === 'memory' || store === 'memory:' ? 0 : rollout
}

function measured(rules: readonly Rule[]) {
  return rules.map((rule) => ({
    name: rule.config.name,
    timeoutMs: rule.config.timeout,
    shadow: rule.config.mode === 'shadow',
    parts: partsWithChoice(rule),
  }))
}

/** Only rules with a part that may come from several sources are looked on at. */
function watchesOf(rules: readonly Rule[], metrics: GatewayMetrics) {
  const watched = rules.filter((rule) => partsWithChoice(rule).length > 0).map(({ config }) => config.name)
  return new Map(watched.map((name) => [name, countSources((part, source) => metrics.rule(name).source(part, source))]))
}

/** Resolves with the address that was really taken. */
async function listen(setting: 'admin' | 'listen', server: { listen(at: Address): Promise<string> }, at: Address): Promise<string> {
  try {
    return await server.listen({ ...at })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`${reason} (the ${setting} address; choose another with --${setting})`, { cause: error })
  }
}

/** So long the end may wait for a collector of traces. */
const FLUSH_TRACES_MS = 1000

/** What the store has to say of itself: all of it is logged, and before the gateway listens it counts where `strict` is set. */
class StartWarnings {
  readonly #log: Log
  #said: string[] | undefined

  constructor(log: Log, strict: boolean) {
    this.#log = log
    this.#said = strict ? [] : undefined
  }

  add(message: string): void {
    this.#said?.push(message)
    this.#log.warn(message)
  }

  /** Rejects where there was any, or where the store does not answer. */
  async refuse(store: Store): Promise<void> {
    const said = this.#said
    if (said === undefined) return
    await store.ping().catch(() => said.push('the store is out of reach'))
    this.#said = undefined
    if (said.length > 0) throw new Error(`strict: true refuses what is only warned of without it: ${said.join('; ')}`)
  }
}

async function checkStore(store: Store, secret: SecretKeys): Promise<void> {
  await store.ping()
  if (secret.keys === undefined) throw new Error('the deployment secret has not been read from the store yet')
}
