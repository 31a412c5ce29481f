// What the shape cannot tell: whether the parts of a configuration make sense together.
import { addressesCollide, parseAddress } from './address.ts'
import { lintFingerprint } from './lint-fingerprint.ts'
import { lintOrder } from './lint-order.ts'
import { warnOfIds } from './lint-protocol.ts'
import type { Finding, Place } from './mistakes.ts'
import { asList, asMapping, type Mapping, valueAt } from './plain-values.ts'
import { viewRules, type RuleView } from './rule-view.ts'
import { DURATION_PATTERN, parseDuration } from './units.ts'

export interface Lint {
  readonly mistakes: readonly Finding[]
  readonly warnings: readonly Finding[]
}

/**
 * Looks at a document of which nothing is known to be right; what the shape check reports, it passes over.
 * `ownRules`: how many of its rules are not included ones.
 */
export function lint(root: unknown, ownRules = Number.POSITIVE_INFINITY): Lint {
  const rules = viewRules(root)
  const fingerprints = rules.map((rule) => lintFingerprint(rule, valueAt(root, ['jwt']) !== undefined))
  const order = lintOrder(rules, ownRules)
  return {
    mistakes: [
      ...lintAddresses(root),
      ...lintReplicas(root),
      ...order.mistakes,
      ...fingerprints.flatMap(({ mistakes }) => mistakes),
      ...rules.flatMap(lintOutcome),
    ],
    warnings: [
      ...warnOfAdmin(root),
      ...warnOfStore(root),
      ...order.warnings,
      ...fingerprints.flatMap(({ warnings }) => warnings),
      ...rules.flatMap(warnOfTimes),
      ...rules.flatMap(warnOfIds),
    ],
  }
}

function lintAddresses(root: unknown): Finding[] {
  const [listen, admin] = [addressAt(root, 'listen', 8080), addressAt(root, 'admin', 9080)]
  if (listen === undefined || admin === undefined || !addressesCollide(listen, admin)) return []
  const place = valueAt(root, ['admin']) === undefined ? ['listen'] : ['admin']
  return [
    {
      place,
      at: 'value',
      message: 'listen and admin are the same port',
      hint: 'health is served on a port of its own, which clients cannot reach',
    },
  ]
}

function addressAt(root: unknown, key: string, port: number): ReturnType<typeof parseAddress> {
  const value = valueAt(root, [key])
  return typeof value === 'string' || typeof value === 'number' ? parseAddress(value) : value === undefined ? parseAddress(port) : undefined
}

function lintReplicas(root: unknown): Finding[] {
  const [replicas, store] = [valueAt(root, ['replicasAck']), valueAt(root, ['store']) ?? 'lmdb:']
  if (typeof replicas !== 'number' || replicas === 0 || typeof store !== 'string' || /^rediss?[:+]/.test(store)) return []
  const postgres = /^postgres(ql)?:/.test(store)
  return [
    {
      place: ['replicasAck'],
      at: 'value',
      message: 'only Redis is asked for its replicas',
      hint: postgres ? 'PostgreSQL waits for the replicas that its synchronous_standby_names says' : 'leave it out',
    },
  ]
}

function warnOfStore(root: unknown): Finding[] {
  const store = valueAt(root, ['store'])
  if (store !== 'memory:' && store !== 'memory') return []
  return [
    {
      place: ['store'],
      at: 'value',
      message: 'records in memory are lost at a restart, and no other gateway sees them',
      hint: 'for more than a trial use lmdb:./data, redis://host or postgres://host/database',
    },
  ]
}

/** Whoever reaches the admin port can have unknown outcomes executed again. */
function warnOfAdmin(root: unknown): Finding[] {
  const { host } = addressAt(root, 'admin', 9080) ?? {}
  if (host === undefined || isLoopback(host) || valueAt(root, ['adminToken']) !== undefined) return []
  return [
    {
      place: ['admin'],
      at: 'value',
      message: 'the admin port is open to other machines, and asks for no token',
      hint: 'set adminToken, or listen on 127.0.0.1',
    },
  ]
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.')
}

/** A status in two lists of one rule. */
function lintOutcome({ settings, placeOf }: RuleView): Finding[] {
  const { executed, notExecuted } = asMapping(asMapping(settings['onUnknown'])['ask'])
  return [
    ...statusesTwice(asMapping(settings['outcome']), placeOf('outcome')),
    ...statusesTwice({ executed, notExecuted }, [...placeOf('onUnknown'), 'ask']),
  ]
}

function statusesTwice(lists: Mapping, at: Place): Finding[] {
  const seen = new Map<unknown, string>()
  const findings: Finding[] = []
  for (const [outcome, list] of Object.entries(lists)) {
    for (const [n, status] of asList(list).entries()) {
      const other = seen.get(status)
      const place = [...at, outcome, n]
      if (other !== undefined && other !== outcome)
        findings.push({ place, at: 'value', message: `${String(status)} is already in ${other}`, hint: 'a status means one thing' })
      seen.set(status, outcome)
    }
  }
  return findings
}

function warnOfTimes({ settings, placeOf }: RuleView): Finding[] {
  const lease = durationOf(settings['lease'])
  const timeout = durationOf(settings['timeout'] ?? '10m')
  const findings: Finding[] = []
  const warn = (place: Place, message: string, hint: string): void => void findings.push({ place, at: 'value', message, hint })
  if (lease !== undefined && timeout !== undefined && lease >= timeout) {
    warn(
      placeOf('lease'),
      'the lease is not shorter than timeout',
      'it is renewed while an execution runs, and says only how soon a dead gateway is noticed: 30s is enough for any timeout',
    )
  }
  if (lease !== undefined && lease < 1000)
    warn(placeOf('lease'), 'a lease under 1s is lost by a short pause of the gateway', 'take some seconds')
  if (settings['ttl'] === 'forever' && settings['tombstone'] !== undefined)
    warn(placeOf('tombstone'), 'the tombstone has no effect: with ttl forever a result never ends', 'leave one of the two out')
  const heartbeat = durationOf(settings['heartbeat'])
  if (heartbeat !== undefined && timeout !== undefined && heartbeat >= timeout)
    warn(placeOf('heartbeat'), 'the heartbeat is not shorter than timeout: there would never be one', 'something like 15s')
  return findings
}

function durationOf(value: unknown): number | undefined {
  return typeof value === 'string' && DURATION_PATTERN.test(value) ? parseDuration(value) : undefined
}
