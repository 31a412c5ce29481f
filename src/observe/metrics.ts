// The gateway's measures, for Prometheus: every series stands at zero from the start, and no label holds what a request said.
import { collectDefaultMetrics, Registry } from 'prom-client'
import {
  FINGERPRINT_RESULTS,
  type FingerprintResult,
  type Metrics,
  OTHER_OUTCOMES,
  type RequestOutcome,
  RULE_OUTCOMES,
  type RuleMetrics,
  SHADOW_OUTCOMES,
  type ShadowOutcome,
  SETTLED,
  type StateBefore,
  STATES_BEFORE,
  STORE_VERBS,
  type StoreVerb,
} from '../model/metrics.ts'
import type { SettledStatus } from '../model/record.ts'
import { linesLost } from './pipe-destination.ts'
import { asMetric, type Cell, type Durations, Family, HistogramFamily, type Labels } from './series.ts'

export interface MeasuredRule {
  readonly name: string
  /** How long an execution may take. */
  readonly timeoutMs: number
  /** It only looks on. */
  readonly shadow: boolean
  /** Those that may be read from more than one source, and all of these. */
  readonly parts: readonly { readonly part: string; readonly sources: readonly string[] }[]
}

/** Milliseconds. */
const SHORT = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 1000]
const LONG = [5, 25, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 120_000, 300_000, 600_000]

function families(isShown: (labels: Labels) => boolean) {
  const counter = (name: string, help: string) => new Family('counter', { name: `oncegate_${name}`, help }, isShown)
  const gauge = (name: string, help: string) => new Family('gauge', { name: `oncegate_${name}`, help }, isShown)
  return {
    requests: counter('requests_total', 'Requests to the traffic port, by what they came to'),
    executions: counter('executions_total', 'Executions that have ended, by how'),
    repeated: counter('repeated_executions_total', 'Executions granted after one that may have acted'),
    transitions: counter('transitions_total', 'Steps of records that this gateway asked for; legal="false": refused by the store'),
    fingerprints: counter('fingerprints_total', 'Requests that a rule was to identify, by what came of it'),
    shadow: counter('shadow_requests_total', 'What rules in shadow would have done with their requests'),
    sources: counter('fingerprint_sources_total', 'Sources that parts with a choice were read from'),
    staleSettles: counter('stale_settles_total', 'Results refused because a later execution holds the record'),
    leasesLost: counter('leases_lost_total', 'Executions whose lease ran out while they went on'),
    storeErrors: counter('store_errors_total', 'Calls that the store did not answer'),
    spooled: gauge('spooled_results', 'Results on this machine that wait for the store, which could not take them in time'),
    overdue: gauge('overdue_executions', 'Executions under way for longer than the timeout of their rule'),
    inFlight: gauge('in_flight', 'Executions under way in this gateway'),
    reloads: counter('config_reloads_total', 'Changed configurations, by what became of them'),
    reloadFailed: gauge('config_reload_failed', '1 while the configuration as it was read last is not the one that is applied'),
    configHash: gauge('config_hash', 'The version of the configuration that is applied, as a number'),
    configApplied: gauge('config_applied_timestamp_seconds', 'When it was applied'),
    storms: counter('retry_storms_total', 'Fingerprints that were asked for again and again'),
    unknown: gauge('unknown_records', 'Records in the store whose outcome is unknown, as far as this gateway knows'),
    overhead: new HistogramFamily(
      { name: 'oncegate_overhead_seconds', help: 'What guarded requests took besides the upstream, with the store' },
      SHORT,
      isShown,
    ),
    store: new HistogramFamily({ name: 'oncegate_store_seconds', help: 'Calls to the store' }, SHORT),
    upstream: new HistogramFamily(
      { name: 'oncegate_upstream_seconds', help: 'Executions, from the sending of the request to the end of the answer' },
      LONG,
      isShown,
    ),
  }
}

type Families = ReturnType<typeof families>

export class GatewayMetrics implements Metrics {
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE
  readonly #registry = new Registry()
  /** Those of earlier versions of the configuration, too: a late request may still count. */
  readonly #rules = new Map<string, RuleSeries>()
  #shown: ReadonlySet<string> = new Set()
  /** By rule; those of no rule under the empty name. */
  readonly #requests = new Map<string, Partial<Record<RequestOutcome, Cell>>>()
  readonly #granted: Record<StateBefore, Cell>
  readonly #reloads: Record<'applied' | 'refused', Cell>
  readonly #reloadFailed: Cell
  readonly #configHash: Cell
  readonly #configApplied: Cell
  readonly #families: Families
  readonly #settled: Record<SettledStatus, Cell>
  readonly #refused: Record<SettledStatus, Cell>
  readonly #learned: Record<'completed' | 'failed', Cell>
  readonly #staleSettles: Cell
  readonly #leasesLost: Cell
  readonly #spooled: Cell
  readonly #unknown: Cell
  readonly #store: Record<StoreVerb, Durations>
  readonly #storeErrors: Record<StoreVerb, Cell>

  constructor(rules: readonly MeasuredRule[]) {
    const all = families(({ rule = '' }) => rule === '' || this.#shown.has(rule))
    this.#families = all
    for (const family of Object.values(all)) this.#registry.registerMetric(asMetric(family))
    this.#addRequests('', OTHER_OUTCOMES)
    this.#granted = keyed(STATES_BEFORE, (from) => all.transitions.add({ from, to: 'processing', legal: 'true' }))
    this.#reloads = keyed(['applied', 'refused'], (result) => all.reloads.add({ result }))
    this.#reloadFailed = all.reloadFailed.add()
    this.#configHash = all.configHash.add()
    this.#configApplied = all.configApplied.add()
    this.follow(rules)
    this.#settled = keyed(SETTLED, (to) => all.transitions.add({ from: 'processing', to, legal: 'true' }))
    this.#refused = keyed(SETTLED, (to) => all.transitions.add({ from: 'lost', to, legal: 'false' }))
    this.#learned = keyed(['completed', 'failed'], (to) => all.transitions.add({ from: 'unknown', to, legal: 'true' }))
    this.#staleSettles = all.staleSettles.add()
    this.#leasesLost = all.leasesLost.add()
    this.#spooled = all.spooled.add()
    this.#unknown = all.unknown.add()
    this.#store = keyed(STORE_VERBS, (verb) => all.store.add({ verb }))
    this.#storeErrors = keyed(STORE_VERBS, (verb) => all.storeErrors.add({ verb }))
  }

  /** The rules of a version of the configuration: each has its series from now on, and no other rule is written out. */
  follow(rules: readonly MeasuredRule[]): void {
    for (const rule of rules) {
      const series = this.#rules.get(rule.name)
      if (series !== undefined) series.follow(rule)
      else {
        this.#addRequests(rule.name, RULE_OUTCOMES)
        this.#rules.set(rule.name, new RuleSeries(rule, this.#families, this.#granted))
      }
    }
    this.#shown = new Set(rules.map(({ name }) => name))
  }

  /** `version`: hexadecimal digits. */
  configApplied({ version, appliedAt }: { readonly version: string; readonly appliedAt: Date }): void {
    this.#configHash.value = Number.parseInt(version, 16)
    this.#configApplied.value = appliedAt.getTime() / 1000
  }

  configReloaded(result: 'applied' | 'unchanged' | 'refused'): void {
    if (result !== 'unchanged') this.#reloads[result].value++
    this.#reloadFailed.value = result === 'refused' ? 1 : 0
  }

  #addRequests(rule: string, outcomes: readonly RequestOutcome[]): void {
    this.#requests.set(
      rule,
      keyed(outcomes, (outcome) => this.#families.requests.add({ rule, outcome })),
    )
  }

  request(rule: string | undefined, outcome: RequestOutcome): void {
    const requests = this.#requests.get(rule ?? '')!
    const cell = (requests[outcome] ??= this.#families.requests.add({ rule: rule ?? '', outcome }))
    cell.value++
  }

  /** What has become of the rule's requests so far. */
  requestsOf(rule: string): Record<string, number> {
    const cells = Object.entries(this.#requests.get(rule) ?? {})
    return Object.fromEntries(cells.map(([outcome, { value }]) => [outcome, value]).filter(([, value]) => value !== 0))
  }

  rule(name: string): RuleMetrics {
    return this.#rules.get(name)!
  }

  settled(to: SettledStatus, result: 'ok' | 'stale'): void {
    if (result === 'ok') this.#settled[to].value++
    else {
      this.#refused[to].value++
      this.#staleSettles.value++
    }
  }

  learned(to: 'completed' | 'failed'): void {
    this.#learned[to].value++
  }

  leaseLost(): void {
    this.#leasesLost.value++
  }

  spooled(results: number): void {
    this.#spooled.value = results
  }

  unknown(records: number): void {
    this.#unknown.value = records
  }

  store(verb: StoreVerb, ms: number, failed: boolean): void {
    this.#store[verb].observe(ms)
    if (failed) this.#storeErrors[verb].value++
  }

  /** All of it, with the process's own measures, in Prometheus's text format 0.0.4. */
  async text(): Promise<string> {
    return `${await this.#registry.metrics()}\n${await ofProcess().metrics()}`
  }
}

/** What is counted under one rule's name. */
class RuleSeries implements RuleMetrics {
  readonly #fingerprints: Record<FingerprintResult, Cell>
  readonly #rule: string
  #timeoutMs: number
  readonly #all: Families
  readonly #sources = new Map<string, Map<string, Cell>>()
  readonly #shadow: Partial<Record<ShadowOutcome, Cell>> = {}
  readonly #granted: Record<StateBefore, Cell>
  readonly #repeated: Cell
  /** When each began (`performance.now()`), the oldest first. */
  readonly #running = new Map<string, number>()
  readonly #ended: Record<SettledStatus, Cell>
  readonly #storms: Cell
  readonly #overhead: Durations
  readonly #upstream: Durations

  constructor({ name: rule, timeoutMs, shadow, parts }: MeasuredRule, all: Families, granted: Record<StateBefore, Cell>) {
    this.#fingerprints = keyed(FINGERPRINT_RESULTS, (result) => all.fingerprints.add({ rule, result }))
    this.#rule = rule
    this.#all = all
    this.#timeoutMs = timeoutMs
    this.follow({ name: rule, timeoutMs, shadow, parts })
    this.#granted = granted
    this.#repeated = all.repeated.add({ rule, cause: 'unknown' })
    all.inFlight.watch(() => this.#running.size, { rule })
    all.overdue.watch(() => this.#runningLongerThan(this.#timeoutMs), { rule })
    this.#ended = keyed(SETTLED, (result) => all.executions.add({ rule, result }))
    this.#storms = all.storms.add({ rule })
    this.#overhead = all.overhead.add({ rule })
    this.#upstream = all.upstream.add({ rule })
  }

  /** As a later version of the configuration has the rule. */
  follow({ timeoutMs, shadow, parts }: MeasuredRule): void {
    this.#timeoutMs = timeoutMs
    if (shadow) for (const outcome of SHADOW_OUTCOMES) this.#shadowed(outcome)
    for (const { part, sources } of parts) {
      const cells = this.#sources.get(part) ?? new Map<string, Cell>()
      this.#sources.set(part, cells)
      for (const source of sources) if (!cells.has(source)) cells.set(source, this.#all.sources.add({ rule: this.#rule, part, source }))
    }
  }

  fingerprint(result: FingerprintResult): void {
    this.#fingerprints[result].value++
  }

  shadow(outcome: ShadowOutcome): void {
    this.#shadowed(outcome).value++
  }

  #shadowed(outcome: ShadowOutcome): Cell {
    return (this.#shadow[outcome] ??= this.#all.shadow.add({ rule: this.#rule, outcome }))
  }

  source(part: string, source: string): void {
    const cell = this.#sources.get(part)?.get(source)
    if (cell !== undefined) cell.value++
  }

  granted(after: StateBefore, executionId: string): void {
    this.#granted[after].value++
    if (after === 'unknown') this.#repeated.value++
    this.#running.set(executionId, performance.now())
  }

  ended(result: SettledStatus, executionId: string): void {
    this.#running.delete(executionId)
    this.#ended[result].value++
  }

  storm(): void {
    this.#storms.value++
  }

  overhead(ms: number): void {
    this.#overhead.observe(ms)
  }

  upstream(ms: number): void {
    this.#upstream.observe(ms)
  }

  #runningLongerThan(limitMs: number): number {
    const before = performance.now() - limitMs
    let count = 0
    for (const began of this.#running.values()) {
      if (began >= before) break
      count++
    }
    return count
  }
}

function keyed<K extends string, V>(keys: readonly K[], make: (key: K) => V): Record<K, V> {
  return Object.fromEntries(keys.map((key) => [key, make(key)])) as Record<K, V>
}

let processRegistry: Registry | undefined

/** prom-client's observers of the process cannot be taken away again: there is one set, however many gateways run in it. */
function ofProcess(): Registry {
  if (processRegistry !== undefined) return processRegistry
  processRegistry = new Registry()
  collectDefaultMetrics({ register: processRegistry })
  const lost = new Family('counter', { name: 'oncegate_log_lines_lost_total', help: 'Log lines that nobody read in time' })
  lost.watch(linesLost)
  processRegistry.registerMetric(asMetric(lost))
  return processRegistry
}
