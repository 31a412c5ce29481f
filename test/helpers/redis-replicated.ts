// What the tests of replicated Redis servers have in common, whoever watches over them.
import { Redis } from 'ioredis'
import type { RedisServer } from './redis-server.ts'
import { until } from './until.ts'

export interface ReplicatedRedis {
  /** As the configuration names it. */
  readonly url: string
  /** Every server that keeps records, masters and replicas. */
  readonly servers: readonly RedisServer[]
  /** The one that takes writes for this fingerprint now; undefined while there is none that most agree on. */
  master(fingerprint?: string): Promise<RedisServer | undefined>
  replicasOf(master: RedisServer): Promise<RedisServer[]>
  /** After a fault: resolves when every server that was a master follows the one that is it now. */
  settled(fingerprint?: string): Promise<void>
  stop(): Promise<void>
}

/** A replica has the master's data at once, not after five seconds. */
export const REPLICATED = ['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1']

/** One command, on a connection of its own. */
export async function ask<T>(port: number, command: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(port, '127.0.0.1', {
    retryStrategy: () => null,
    lazyConnect: true,
    enableReadyCheck: false,
    connectTimeout: 1000,
    commandTimeout: 1000,
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await command(client)
  } finally {
    client.disconnect()
  }
}

/** The values of INFO replication. */
export async function replicationOf(port: number): Promise<Record<string, string>> {
  const text = await ask(port, (client) => client.info('replication'))
  return Object.fromEntries(Array.from(text.matchAll(/^(\w+):(.*?)\r?$/gm), ([, name, value]) => [name, value] as const))
}

export async function untilReplicated(master: RedisServer, replicas: number): Promise<void> {
  await until(
    `${replicas} replicas`,
    async () => {
      const values = await replicationOf(master.port).catch((): Record<string, string> => ({}))
      return Object.entries(values).filter(([name, value]) => /^slave\d/.test(name) && value.includes('state=online')).length >= replicas
    },
    15_000,
  )
}

/** Whether this one says of itself that it has the master's data and gets what is new. */
export async function follows(server: RedisServer, master: RedisServer): Promise<boolean> {
  const values = await replicationOf(server.port).catch((): Record<string, string> => ({}))
  return Number(values['master_port']) === master.port && values['master_link_status'] === 'up'
}

export async function isMaster(server: RedisServer): Promise<boolean> {
  return (await replicationOf(server.port).catch((): Record<string, string> => ({})))['role'] === 'master'
}

/** Makes it a replica of that one, or a master. */
export async function follow(server: RedisServer, master: RedisServer | undefined): Promise<void> {
  const to = master === undefined ? ['NO', 'ONE'] : ['127.0.0.1', String(master.port)]
  await ask(server.port, (client) => client.call('REPLICAOF', ...to))
}
