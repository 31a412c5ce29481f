// Tells an operator of settings that let the servers forget claims: eviction, no persistence, a replica, too few replicas.
import type { StoreOptions } from '../store-options.ts'
import type { RedisConnection } from './connect.ts'

/** Each thing is said once, however many servers have it. */
export async function checkServers(masters: readonly RedisConnection[], { warn, replicasAck = 0 }: StoreOptions): Promise<void> {
  const found = await Promise.all(masters.map((master) => shortcomings(master, replicasAck)))
  for (const message of new Set(found.flat())) warn(message)
}

/** A hosted server may forbid CONFIG and INFO; then nothing is said. */
async function shortcomings(server: RedisConnection, replicasAck: number): Promise<string[]> {
  const [policy, appends, saves, replication] = await Promise.all([
    setting(server, 'maxmemory-policy').then((value) => value ?? info(server, 'memory', /^maxmemory_policy:(.*)$/gm).then(first)),
    setting(server, 'appendonly').then((value) => value ?? info(server, 'persistence', /^aof_enabled:(.*)$/gm).then(first)),
    setting(server, 'save'),
    info(server, 'replication', /^(?:role:.*|slave\d+:.*\bstate=online\b.*)$/gm),
  ])
  const messages: string[] = []
  if (policy !== undefined && policy !== 'noeviction') {
    messages.push(
      `Redis may evict claims (maxmemory-policy is ${policy}), and an evicted claim can be executed again: set it to noeviction`,
    )
  }
  if (appends === 'no' || appends === '0') {
    messages.push(
      saves === ''
        ? 'Redis keeps nothing on disk (appendonly is no and save is empty): after a restart everything can be executed again'
        : 'Redis keeps snapshots only (appendonly is no): after a crash what has come since the last one can be executed again',
    )
  }
  if (replication?.[0]?.trim() === 'role:slave') {
    messages.push('Redis is a replica here: it takes no claim, and every guarded request is refused')
  } else if (replication !== undefined && replication.length - 1 < replicasAck) {
    const count = replication.length - 1
    messages.push(
      `Redis has ${count} of the ${replicasAck} replicas that replicasAck asks for: until they are there every claim is refused`,
    )
  }
  return messages
}

async function setting(server: RedisConnection, name: string): Promise<string | undefined> {
  try {
    const reply: unknown = await server.run('config', (client) => client.config('GET', name))
    return Array.isArray(reply) ? String(reply[1]) : undefined
  } catch {
    return undefined
  }
}

/** The lines of a section that are like this: what is captured, else the whole line. */
async function info(server: RedisConnection, section: string, like: RegExp): Promise<string[] | undefined> {
  try {
    const text = await server.run('info', (client) => client.info(section))
    return Array.from(text.matchAll(like), ([line, captured = line]) => captured.trim())
  } catch {
    return undefined
  }
}

function first(lines: readonly string[] | undefined): string | undefined {
  return lines?.[0]
}
