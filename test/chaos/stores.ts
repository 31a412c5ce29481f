// The stores that chaos is let loose on, with the faults that each can have.
import { setTimeout as pause } from 'node:timers/promises'
import { PostgresServer } from '../helpers/postgres-server.ts'
import { startCluster } from '../helpers/redis-cluster.ts'
import type { ReplicatedRedis } from '../helpers/redis-replicated.ts'
import { startSentinel } from '../helpers/redis-sentinel.ts'
import { RedisServer } from '../helpers/redis-server.ts'
import { TcpProxy } from '../helpers/tcp-proxy.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import { until } from '../helpers/until.ts'
import { ProcessGateway } from './process-gateway.ts'
import type { FaultKind, PlannedFault } from './schedule.ts'
import { type ChaosStore, GATEWAY_FAULTS, type Scene, type Stage } from './scene.ts'

/** Of one gateway's connections to a server, and of the server that all share. */
const SERVER_FAULTS: readonly FaultKind[] = [
  ...GATEWAY_FAULTS,
  { kind: 'clock', scope: 'gateway', weight: 1, ms: [500, 3000] },
  { kind: 'cut', scope: 'gateway', weight: 4, ms: [0, 0] },
  { kind: 'black-hole', scope: 'gateway', weight: 3, ms: [300, 2500] },
  { kind: 'lost-replies', scope: 'gateway', weight: 3, ms: [100, 1800] },
  { kind: 'slow-link', scope: 'gateway', weight: 1, ms: [500, 2000] },
  { kind: 'store-restart', scope: 'all', weight: 2, ms: [0, 1500] },
  { kind: 'store-stop', scope: 'all', weight: 1, ms: [300, 2500] },
]

const FAIL_OVER_WITHIN_MS = 20_000

interface Server {
  readonly port: number
  /** As the configuration names it, through a link that listens on this port. */
  readonly url: (port: number) => string
  pause(): void
  resume(): void
  kill(): Promise<void>
  restart(): Promise<void>
  stop(): Promise<void>
}

function onServer(start: () => Promise<Server>): ChaosStore {
  return {
    faultKinds: SERVER_FAULTS,
    async open(stage) {
      const server = await start()
      const links = await Promise.all(Array.from({ length: stage.gateways }, () => TcpProxy.start(server.port)))
      const gateways = await startAll(stage, (gateway) => server.url(links[gateway]!.port))
      return scene(stage, gateways, {
        inject: (fault) => injectServer(fault, server, links),
        close: async () => {
          await Promise.all(links.map((link) => link.stop()))
          await server.stop()
        },
      })
    },
  }
}

/** What it has acknowledged it still knows after its death: without this the contract lets it forget. */
const redis = onServer(async () => {
  const server = await RedisServer.start(['--appendfsync', 'always'])
  return withUrl(server, (port) => `redis://127.0.0.1:${port}`)
})

const postgres = onServer(async () => {
  const server = await PostgresServer.start(['fsync=on', 'full_page_writes=on'])
  return withUrl(server, (port) => `postgres://postgres@127.0.0.1:${port}/postgres`)
})

function withUrl(server: Omit<Server, 'url'>, url: Server['url']): Server {
  return {
    port: server.port,
    url,
    pause: () => server.pause(),
    resume: () => server.resume(),
    kill: () => server.kill(),
    restart: () => server.restart(),
    stop: () => server.stop(),
  }
}

async function injectServer({ kind, gateway = 0, ms }: PlannedFault, server: Server, links: readonly TcpProxy[]): Promise<void> {
  const link = links[gateway]!
  switch (kind) {
    case 'cut':
      return link.cut()
    case 'black-hole':
    case 'lost-replies':
      link.fault = kind === 'black-hole' ? 'hold' : 'dropReplies'
      await pause(ms)
      link.fault = 'none'
      // What was swallowed is missing from the stream: nothing that comes after it could be understood.
      return link.cut()
    case 'slow-link':
      link.delayMs = 80
      await pause(ms)
      link.delayMs = 0
      return link.cut()
    case 'store-restart':
      await server.kill()
      await pause(ms)
      return server.restart()
    case 'store-stop':
      server.pause()
      await pause(ms)
      return server.resume()
    default:
      throw new TypeError(`no such fault: ${kind}`)
  }
}

/**
 * One machine has one clock and one disk: what can befall the store alone is little. A gateway that is stopped may hold the
 * lock that all writers need: leases run out meanwhile, whosever they are.
 */
const lmdb: ChaosStore = {
  faultKinds: [
    ...GATEWAY_FAULTS.map((fault) => (fault.kind === 'stop' ? { ...fault, felt: 'by all' as const } : fault)),
    { kind: 'kill-all', scope: 'all', weight: 0.5, ms: [0, 500] },
  ],
  async open(stage) {
    const directory = await temporaryDirectory()
    const gateways = await startAll(stage, () => `lmdb:${directory.path}`)
    return scene(stage, gateways, {
      inject: async ({ ms }) => {
        await Promise.all(gateways.map((gateway) => gateway.kill(ms)))
      },
      close: () => directory.remove(),
    })
  },
}

/**
 * No link stands between: the gateways learn from the servers where they are. `replicasAck` is the number of a master's replicas: a
 * master that was stopped and goes on in the middle of its replacement may still have those that the new one has not reached yet, and
 * what they alone have is lost.
 */
function onReplicas(start: () => Promise<ReplicatedRedis>, replicasAck: number): ChaosStore {
  return {
    faultKinds: [
      ...GATEWAY_FAULTS,
      { kind: 'clock', scope: 'gateway', weight: 1, ms: [500, 3000] },
      { kind: 'fail-over', scope: 'all', weight: 5, ms: [0, 1500] },
      { kind: 'master-stop', scope: 'all', weight: 3, ms: [300, 4000] },
    ],
    async open(stage) {
      const servers = await start()
      const gateways = await startAll(stage, () => servers.url, `replicasAck: ${replicasAck}`)
      // One after the other: with two masters lost at once nobody could agree on anything.
      let turn: Promise<void> = Promise.resolve()
      return scene(stage, gateways, {
        inject: (fault) => (turn = turn.then(() => injectReplicated(fault, servers))),
        close: () => servers.stop(),
      })
    },
  }
}

/** Healed when the master has a replica again: without one it grants nothing, and could not be lost. */
async function injectReplicated({ kind, at, ms }: PlannedFault, servers: ReplicatedRedis): Promise<void> {
  // In a cluster chance decides which of the masters.
  const name = String(at)
  const master = await servers.master(name)
  if (master === undefined) return servers.settled(name)
  if (kind === 'fail-over') {
    await master.kill()
    // Where they cannot agree on another one it comes back as it was.
    const another = async (): Promise<boolean> => ![undefined, master].includes(await servers.master(name))
    await until('another master', another, FAIL_OVER_WITHIN_MS).catch(() => undefined)
    await pause(ms)
    await master.restart()
  } else {
    master.pause()
    await pause(ms)
    master.resume()
  }
  await servers.settled(name)
}

const sentinel = onReplicas(startSentinel, 2)
const cluster = onReplicas(startCluster, 1)

export const CHAOS_STORES: Readonly<Record<string, ChaosStore>> = { redis, lmdb, postgres, sentinel, cluster }

async function startAll(stage: Stage, store: (gateway: number) => string, top?: string): Promise<ProcessGateway[]> {
  const { upstream, recorder } = stage
  const places = Array.from(
    { length: stage.gateways },
    (_, gateway) => new ProcessGateway({ gateway, upstream: upstream.url(gateway), store: store(gateway), top, recorder }),
  )
  await Promise.all(places.map((place) => place.start()))
  return places
}

/** The faults of the processes, and those of their store. */
function scene({ upstream }: Stage, gateways: readonly ProcessGateway[], store: Omit<Scene, 'gateways'>): Scene {
  return {
    gateways,
    inject: async (fault) => {
      const { kind, gateway = 0, ms } = fault
      switch (kind) {
        case 'kill':
          return gateways[gateway]!.kill(ms)
        case 'stop':
          return gateways[gateway]!.standStill(ms)
        case 'clock':
          return gateways[gateway]!.shiftClock(ms)
        case 'upstream-gone':
          return upstream.refuse(gateway, ms)
        default:
          return store.inject(fault)
      }
    },
    close: async () => {
      await Promise.all(gateways.map((gateway) => gateway.stop()))
      await store.close()
    },
  }
}
