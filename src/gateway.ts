// Composition root: the only file that knows every part.
import { randomBytes } from 'node:crypto'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import type { Log } from './observe/log.ts'
import { requestLog } from './observe/request-log.ts'
import { GatewayMetrics } from './observe/metrics.ts'
import { flushTraces, openTracing } from './observe/trace.ts'
import { createAdminServer } from './admin/admin-server.ts'
import type { Address, GatewayConfig } from './config/gateway-config.ts'
import { compileRule, type Rule } from './fingerprint/compile-rule.ts'
import { countSources, partsWithChoice } from './fingerprint/count-sources.ts'
import { deriveKeys, type FingerprintKeys } from './fingerprint/keys.ts'
import { compileRoutes } from './fingerprint/route.ts'
import { loadStepTools } from './fingerprint/steps/tools.ts'
import { corsHeaders } from './http/cors.ts'
import { explainTold } from './http/explain-told.ts'
import { createTokenVerifier } from './http/verify-token.ts'
import { createServer } from './http/server.ts'
import { Answers } from './idempotency/answers.ts'
import { Durations } from './idempotency/durations.ts'
import { History } from './idempotency/history.ts'
import { Inquiries } from './idempotency/inquiries.ts'
import { Limits } from './idempotency/limits.ts'
import { LiveExecutions } from './idempotency/live-executions.ts'
import { SpooledResults } from './idempotency/spooled-results.ts'
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
  /** No new work; running executions finish within `shutdownGrace`, the rest is settled as far as it is known. */
  close(): Promise<void>
}

/** `open` is how the store that the configuration names is opened: whoever embeds a gateway may bring a store of its own. */
export async function startGateway(config: GatewayConfig, log: Log, open = openStore): Promise<Gateway> {
  const tools = await loadStepTools(config.rules)
  const warnings = new StartWarnings(log, config.strict)
  const { storeTimeout: timeoutMs, replicasAck } = config
  const opened = await open(config.store, { timeoutMs, replicasAck, warn: (message) => warnings.add(message) })
  const upstreams = new Upstreams()
  const live = new LiveExecutions()
  const rules = config.rules.map((rule) => compileRule(rule, tools))
  const metrics = new GatewayMetrics(
    rules.map((rule) => ({ name: rule.config.name, timeoutMs: rule.config.timeout, parts: partsWithChoice(rule) })),
  )
  const tellFault = faultLog((message) => log.warn(message))
  const history = new History()
  const store = new MeasuredStore(opened, {
    tell: (verb, ms, failed) => metrics.store(verb, ms, failed),
    onFault: tellFault,
    witness: history,
  })
  let draining = false
  const secret = new SecretKeys(store, config.secret)
  const durations = new Durations()
  const onBreaker = (rule: string, state: string): void => log.warn({ rule }, `the breaker is ${state}`)
  const spooled = new SpooledResults({ spool: await spoolOf(config, warnings), store, log, metrics })
  const gate = {
    store,
    upstreams,
    live,
    answers: new Answers(store),
    log,
    metrics,
    durations,
    limits: new Limits(config.rules, { durations, onBreaker }),
    inquiries: new Inquiries(),
    takeBacks: new TakeBacks(store),
    spooled,
    storeTimeout: config.storeTimeout,
  }
  const byName = new Map(rules.map((rule) => [rule.config.name, rule]))
  const verifyToken = config.jwt && createTokenVerifier(config.jwt)
  const proxy = {
    gate,
    routes: compileRoutes(rules),
    rules: byName,
    watches: watchesOf(rules, metrics),
    keys: () => secret.keys,
    upstream: config.upstream,
    statusPath: config.statusPath,
    cors: corsHeaders(config.cors?.origins),
    verifyToken,
    draining: () => draining,
    log,
    tracing: openTracing(),
    logRequest: requestLog(log),
  }
  const traffic = await createServer(proxy, { trustProxy: config.trustProxy, tls: config.tls })
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
      explain: (request, keys) => explainTold(rules, request, { keys, verify: verifyToken }),
    },
    token: config.adminToken,
  })
  try {
    await secret.tryOnce()
    await warnings.refuse(store)
    const adminUrl = await listen('admin', admin, config.admin)
    const url = await listen('listen', traffic, config.listen)
    return { url, adminUrl, close }
  } catch (error) {
    // A port that is taken: what is open already would keep the process from ending.
    await close()
    throw error
  }

  async function close(): Promise<void> {
    draining = true
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
    if (proxy.tracing !== undefined) await Promise.race([flushTraces(), pause(FLUSH_TRACES_MS, undefined, { ref: false })])
  }
}

async function spoolOf({ spool, store }: GatewayConfig, warnings: StartWarnings) {
  if (spool === undefined || !needsSpool(store)) return undefined
  return openSpool({ ...spool, store, warn: (message) => warnings.add(message) })
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

/** The keys, as soon as the store (or the configuration) has given the secret. */
class SecretKeys {
  keys: FingerprintKeys | undefined
  readonly #store: Store
  #stopped = false

  constructor(store: Store, configured: string) {
    this.#store = store
    if (configured !== '') this.keys = deriveKeys(configured)
  }

  /** Asks the store once; while it is out of reach, asking goes on in the background. */
  async tryOnce(): Promise<void> {
    if (this.keys !== undefined || (await this.#ask())) return
    void this.#askUntilKnown()
  }

  stop(): void {
    this.#stopped = true
  }

  async #askUntilKnown(): Promise<void> {
    while (!this.#stopped && !(await this.#ask())) await pause(ASK_AGAIN_MS, undefined, { ref: false })
  }

  async #ask(): Promise<boolean> {
    try {
      this.keys = deriveKeys(await this.#store.secret(randomBytes(32).toString('base64url')))
      return true
    } catch {
      return false
    }
  }
}

const ASK_AGAIN_MS = 250
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
