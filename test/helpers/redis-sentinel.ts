// A master, two replicas and three sentinels, all real: what a fail-over needs.
import { randomBytes } from 'node:crypto'
import { ask, follow, follows, isMaster, REPLICATED, type ReplicatedRedis, untilReplicated } from './redis-replicated.ts'
import { RedisServer } from './redis-server.ts'
import { until } from './until.ts'

const NAME = 'once'
const DOWN_AFTER_MS = 600
/** A fail-over that came to nothing is tried again after twice this. */
const FAIL_OVER_TIMEOUT_MS = 1500
const SETTLED_WITHIN_MS = 20_000

export async function startSentinel({ replicas = 2, settings = [] as readonly string[] } = {}): Promise<ReplicatedRedis> {
  const master = await RedisServer.start([...REPLICATED, ...settings])
  const others = await Promise.all(
    Array.from({ length: replicas }, () =>
      RedisServer.start([...REPLICATED, ...settings, '--replicaof', '127.0.0.1', String(master.port)]),
    ),
  )
  await untilReplicated(master, replicas)
  const servers = [master, ...others]
  const sentinels = await startSentinels(master, others)
  /** As each sentinel has it that answers. */
  const named = async (): Promise<(RedisServer | undefined)[]> => {
    const answers = await Promise.allSettled(
      sentinels.map(({ port }) => ask(port, (client) => client.call('SENTINEL', 'get-master-addr-by-name', NAME) as Promise<string[]>)),
    )
    return answers.map((answer) =>
      answer.status === 'fulfilled' ? servers.find(({ port }) => port === Number(answer.value[1])) : undefined,
    )
  }
  const agreed = async (least: number): Promise<RedisServer | undefined> => {
    const names = await named()
    return names.find((name) => names.filter((other) => other === name).length >= least)
  }
  return {
    url: `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${NAME}`,
    servers,
    master: () => agreed(2),
    replicasOf: async (leader) => {
      const following = await Promise.all(servers.map((server) => follows(server, leader)))
      return servers.filter((_, n) => following[n])
    },
    settled: () =>
      until(
        'replicas of one master',
        async () => {
          const leader = await agreed(sentinels.length)
          if (leader === undefined || !(await isMaster(leader))) return false
          const others = servers.filter((server) => server !== leader)
          const following = await Promise.all(others.map((server) => follows(server, leader)))
          // The sentinels, who all agree, would tell it the same, ten seconds later.
          for (const [n, server] of others.entries()) if (!following[n] && (await isMaster(server))) await follow(server, leader)
          return following.every(Boolean)
        },
        SETTLED_WITHIN_MS,
      ),
    stop: async () => {
      await Promise.all([...sentinels, ...servers].map((server) => server.stop()))
    },
  }
}

/** They know each other and the replicas from the start: to find that out takes them seconds. */
async function startSentinels(master: RedisServer, replicas: readonly RedisServer[]): Promise<RedisServer[]> {
  const ids = Array.from({ length: 3 }, () => randomBytes(20).toString('hex'))
  const ports: number[] = []
  const sentinels: RedisServer[] = []
  const knownReplicas = replicas.map(({ port }) => `sentinel known-replica ${NAME} 127.0.0.1 ${port}`)
  for (const id of ids) {
    sentinels.push(
      await RedisServer.prepareSentinel((port) => {
        ports.push(port)
        return [
          `sentinel myid ${id}`,
          `sentinel monitor ${NAME} 127.0.0.1 ${master.port} 2`,
          `sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER_MS}`,
          `sentinel failover-timeout ${NAME} ${FAIL_OVER_TIMEOUT_MS}`,
          `sentinel parallel-syncs ${NAME} 2`,
          ...knownReplicas,
        ]
      }),
    )
  }
  await Promise.all(sentinels.map((sentinel) => sentinel.restart()))
  await until(
    'sentinels that know each other',
    async () => {
      const states = await Promise.all(
        ports.map((port) => ask(port, (client) => client.call('SENTINEL', 'ckquorum', NAME) as Promise<string>).catch(() => '')),
      )
      return states.every((state) => state.startsWith('OK 3'))
    },
    15_000,
  )
  return sentinels
}
