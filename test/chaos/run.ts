// One chaos run: from a seed to a history.
import { setTimeout as pause } from 'node:timers/promises'
import { CountingUpstream } from './counting-upstream.ts'
import type { HistoryEvent } from './history.ts'
import { Player } from './player.ts'
import { Random } from './random.ts'
import { Recorder } from './recorder.ts'
import { LIMITS, RULES } from './rules.ts'
import type { ChaosStore, Scene } from './scene.ts'
import { type Bias, drawSchedule, type PlannedFault, type Schedule } from './schedule.ts'
import { watchStalls } from './stalls.ts'

export interface ChaosOptions {
  readonly store: string
  readonly seed: number
  readonly gateways: number
  readonly requests: number
  readonly faults: number
  readonly loadMs: number
  readonly bias?: Bias
}

/** So many wishes are looked after at once at the end. */
const COLLECTORS = 16

export async function runChaos(options: ChaosOptions, store: ChaosStore): Promise<HistoryEvent[]> {
  const schedule = drawSchedule({ ...options, faultKinds: store.faultKinds })
  const recorder = new Recorder()
  const { seed, gateways } = options
  recorder.add({ type: 'run', seed, store: options.store, gateways, rules: RULES, limits: LIMITS })
  const upstream = await CountingUpstream.start(recorder, schedule.wishes, gateways)
  const scene = await store.open({ gateways, upstream, recorder })
  const player = new Player(scene.gateways, recorder, upstream.fingerprints)
  const stopWatching = watchStalls(recorder)
  try {
    const shared = new Set(store.faultKinds.filter(({ felt }) => felt === 'by all').map(({ kind }) => kind))
    await playLoad(schedule, { scene, player, recorder, shared })
    await quiet(upstream)
    await collect(schedule, player, recorder, new Random(seed))
  } finally {
    stopWatching()
    player.close()
    await scene.close()
    await upstream.close()
  }
  return recorder.history
}

interface Playing {
  readonly scene: Scene
  readonly player: Player
  readonly recorder: Recorder
  /** Kinds of faults that strike one gateway and are felt by all. */
  readonly shared: ReadonlySet<string>
}

/** Resolves when every request is answered and every fault healed. */
async function playLoad(schedule: Schedule, at: Playing): Promise<void> {
  const { player } = at
  const began = performance.now()
  const due = <T extends { readonly at: number }>(planned: readonly T[], play: (one: T) => Promise<unknown>) => inTime(planned, began, play)
  await Promise.all([
    due(schedule.faults, (fault) => strike(fault, at)),
    due(schedule.requests, (request) => player.ask({ ...request, phase: 'load' })),
    due(schedule.statuses, ({ wish, gateway }) => player.readStatus(wish, gateway)),
  ])
}

async function inTime<T extends { readonly at: number }>(
  planned: readonly T[],
  began: number,
  play: (one: T) => Promise<unknown>,
): Promise<void> {
  const played: Promise<unknown>[] = []
  for (const one of planned) {
    const left = began + one.at - performance.now()
    if (left > 0) await pause(left)
    played.push(play(one))
  }
  await Promise.all(played)
}

async function strike(fault: PlannedFault, { scene, recorder, shared }: Playing): Promise<void> {
  const from = recorder.now()
  await scene.inject(fault)
  const { kind, gateway } = fault
  const where = gateway === undefined || shared.has(kind) ? {} : { gateway }
  recorder.add({ type: 'fault', kind, ...where, from, to: recorder.now() })
}

/** The upstream is idle, and every lease of the dead has run out. */
async function quiet(upstream: CountingUpstream): Promise<void> {
  while (upstream.running > 0) await pause(20)
  await pause(LIMITS.leaseMs + LIMITS.storeTimeoutMs)
}

async function collect(schedule: Schedule, player: Player, { history }: Recorder, random: Random): Promise<void> {
  const executed = history.flatMap((event) => (event.type === 'executed' ? [[event.wish, event.payload] as const] : []))
  const payloads = new Map(executed)
  const gateways = player.gateways - 1
  const wishes = schedule.wishes.map((wish) => ({ wish, gateway: random.between(0, gateways), payload: payloads.get(wish.id) ?? 0 }))
  const collector = async (): Promise<void> => {
    for (let next = wishes.pop(); next !== undefined; next = wishes.pop()) {
      await player.collect(next.wish, next.gateway, next.payload)
    }
  }
  await Promise.all(Array.from({ length: COLLECTORS }, collector))
}
