// Warns when the server's settings let it forget claims: eviction, or no persistence.
import type { RedisConnection } from './connect.ts'

/** A hosted server may forbid CONFIG and INFO; then nothing is said. */
export async function warnOfForgetting(connection: RedisConnection, warn: (message: string) => void): Promise<void> {
  const policy = (await setting(connection, 'maxmemory-policy')) ?? (await info(connection, 'memory', 'maxmemory_policy'))
  if (policy !== undefined && policy !== 'noeviction') {
    warn(`Redis may evict claims (maxmemory-policy is ${policy}), and an evicted claim can be executed again: set it to noeviction`)
  }
  const appends = (await setting(connection, 'appendonly')) ?? (await info(connection, 'persistence', 'aof_enabled'))
  const saves = await setting(connection, 'save')
  if ((appends === 'no' || appends === '0') && saves === '') {
    warn('Redis keeps nothing on disk (appendonly is no and save is empty): after a restart everything can be executed again')
  }
}

async function setting(connection: RedisConnection, name: string): Promise<string | undefined> {
  try {
    const reply: unknown = await connection.run('config', (client) => client.config('GET', name))
    return Array.isArray(reply) ? String(reply[1]) : undefined
  } catch {
    return undefined
  }
}

async function info(connection: RedisConnection, section: string, name: string): Promise<string | undefined> {
  try {
    const text = await connection.run('info', (client) => client.info(section))
    return new RegExp(`^${name}:(.*)$`, 'm').exec(text)?.[1]?.trim()
  } catch {
    return undefined
  }
}
