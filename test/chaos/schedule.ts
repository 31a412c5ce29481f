// Everything that is left to chance in a chaos run, drawn from its seed before anything starts.
import { Random } from './random.ts'
import { RULES } from './rules.ts'

export interface ScheduleOptions {
  readonly seed: number
  readonly gateways: number
  /** About so many; duplicates come in bunches. */
  readonly requests: number
  readonly faults: number
  /** How long requests and faults go on. */
  readonly loadMs: number
  readonly faultKinds: readonly FaultKind[]
  readonly bias?: Bias
}

/** More of what a certain fault needs to show. */
export interface Bias {
  /** The weight of executions that take one to three seconds, the others' being 93. Default: 7 */
  readonly slow?: number
  /** The share of wishes that are sent with two contents. Default: 0.08 */
  readonly conflicts?: number
  /** How often each wish's status page is read, at most. Default: 4, of four wishes in ten */
  readonly statuses?: number
}

export interface FaultKind {
  readonly kind: string
  /** What it hits: one gateway, or what all share. */
  readonly scope: 'gateway' | 'all'
  /** Others suffer from it as well. */
  readonly felt?: 'by all'
  readonly weight: number
  readonly ms: readonly [from: number, to: number]
}

export interface PlannedFault {
  readonly kind: string
  readonly at: number
  readonly ms: number
  readonly gateway?: number
}

/** What the upstream does with one execution of a wish. */
export interface UpstreamPlan {
  readonly delayMs: number
  readonly status: number
  readonly pieces: number
  readonly pieceBytes: number
  readonly gapMs: number
  /** With a Content-Length, or without. */
  readonly declared: boolean
  /** `resetBefore`, `resetAfter`: no answer, whether it acted or not. `cut`: after half of the pieces. */
  readonly end: 'whole' | 'resetBefore' | 'resetAfter' | 'cut'
}

export interface Wish {
  readonly id: string
  readonly rule: string
  readonly owner: string
  /** Shared by wishes of different owners. */
  readonly key: string
  /** For its first, second … execution; all later ones go well. */
  readonly plans: readonly UpstreamPlan[]
}

export interface PlannedRequest {
  readonly at: number
  readonly gateway: number
  readonly wish: Wish
  readonly payload: number
  readonly wait?: number
  /** The client leaves after so many milliseconds. */
  readonly leaveAfterMs?: number
}

export interface PlannedStatus {
  readonly at: number
  readonly gateway: number
  readonly wish: Wish
}

export interface Schedule {
  readonly wishes: readonly Wish[]
  readonly requests: readonly PlannedRequest[]
  readonly statuses: readonly PlannedStatus[]
  readonly faults: readonly PlannedFault[]
}

export function drawSchedule(options: ScheduleOptions): Schedule {
  const random = new Random(options.seed)
  const wishes: Wish[] = []
  const requests: PlannedRequest[] = []
  const statuses: PlannedStatus[] = []
  while (requests.length < options.requests) {
    for (const wish of drawWishes(random, wishes.length, options.bias?.slow ?? 7)) {
      const from = random.between(0, options.loadMs)
      wishes.push(wish)
      requests.push(...drawRequests(random, wish, from, options))
      const reads = drawReads(random, options.bias?.statuses)
      for (let n = 0; n < reads; n++) {
        statuses.push({ at: from + random.between(50, 4000), gateway: random.between(0, options.gateways - 1), wish })
      }
    }
  }
  const faults = drawFaults(random, options)
  return { wishes, requests: inTime(requests), statuses: inTime(statuses), faults }
}

function drawReads(random: Random, most?: number): number {
  if (most !== undefined) return random.between(1, most)
  return random.chance(0.4) ? random.between(1, 4) : 0
}

/** One wish, or the same key in the hands of two owners. */
function drawWishes(random: Random, n: number, slow: number): Wish[] {
  const wish = (id: number, owner: string): Wish => ({ id: `w${id}`, rule, owner, key: `key-${n}`, plans: drawPlans(random, rule, slow) })
  const rule = random.one(RULES).name
  return random.chance(0.1) ? [wish(n, 'anna'), wish(n + 1, 'otto')] : [wish(n, random.one(['anna', 'otto', 'zoe']))]
}

function drawPlans(random: Random, rule: string, slow: number): UpstreamPlan[] {
  const streams = RULES.some(({ name, inFlight }) => name === rule && inFlight === 'attach')
  const plans: UpstreamPlan[] = []
  do plans.push(drawPlan(random, streams, slow))
  while (plans.length < 3 && random.chance(0.5))
  return plans
}

function drawPlan(random: Random, streams: boolean, slow: number): UpstreamPlan {
  const status = random.weighted([
    [80, 200],
    [3, 201],
    [2, 404],
    [8, 503],
    [4, 429],
    [3, 504],
  ])
  const end = random.weighted<UpstreamPlan['end']>([
    [88, 'whole'],
    [4, 'resetBefore'],
    [4, 'resetAfter'],
    [4, 'cut'],
  ])
  const delayMs = random.weighted([
    [60, random.between(0, 80)],
    [30, random.between(100, 900)],
    [slow, random.between(1000, 2800)],
    // Beyond the rules' timeout.
    [3, 4000],
  ])
  const many = status < 300 && (streams || random.chance(0.1))
  const pieces = many ? random.between(2, 20) : 1
  const pieceBytes = random.weighted([
    [80, random.between(10, 2000)],
    [20, random.between(8000, 30_000)],
  ])
  return { delayMs, status, pieces, pieceBytes, gapMs: random.between(0, 60), declared: !many || random.chance(0.3), end }
}

function drawRequests(random: Random, wish: Wish, from: number, { gateways, loadMs, bias }: ScheduleOptions): PlannedRequest[] {
  const count = random.weighted([
    [25, 1],
    [60, random.between(2, 6)],
    // A herd.
    [5, 16],
  ])
  const conflicts = random.chance(bias?.conflicts ?? 0.08)
  const spread = random.weighted([
    [40, 20],
    [40, 1500],
    [20, Math.min(6000, loadMs)],
  ])
  return Array.from({ length: count }, (_, n) => ({
    at: from + (n === 0 ? 0 : random.between(0, spread)),
    gateway: random.between(0, gateways - 1),
    wish,
    payload: conflicts ? random.between(0, 1) : 0,
    ...(random.chance(0.15) ? { wait: random.between(1, 3) } : {}),
    ...(random.chance(0.04) ? { leaveAfterMs: random.between(5, 800) } : {}),
  }))
}

/** Faults of one target do not overlap; those of a gateway and of what all share do. */
function drawFaults(random: Random, options: ScheduleOptions): PlannedFault[] {
  const faults: PlannedFault[] = []
  const weights = options.faultKinds.map((kind) => [kind.weight, kind] as const)
  for (let tries = 0; faults.length < options.faults && tries < options.faults * 20; tries++) {
    const { kind, scope, ms } = random.weighted(weights)
    const fault = {
      kind,
      at: random.between(0, options.loadMs),
      ms: random.between(...ms),
      ...(scope === 'gateway' ? { gateway: random.between(0, options.gateways - 1) } : {}),
    }
    if (!faults.some((other) => collide(fault, other))) faults.push(fault)
  }
  return inTime(faults)
}

/** Starting a gateway takes its time. */
const RECOVERY_MS = 1500

function collide(one: PlannedFault, other: PlannedFault): boolean {
  return one.gateway === other.gateway && one.at < other.at + other.ms + RECOVERY_MS && other.at < one.at + one.ms + RECOVERY_MS
}

function inTime<T extends { readonly at: number }>(planned: readonly T[]): T[] {
  return planned.toSorted((one, other) => one.at - other.at)
}
