// What a store on Redis asks of the servers behind its address, be it one or many.
import type { Redis } from 'ioredis'
import type { RedisConnection, Reply, ScriptRun } from './connect.ts'

export interface RedisServers {
  /** One script, at the server that has its keys. Rejects with StoreUnavailable within the limit, whatever happens. */
  script(verb: string, run: ScriptRun): Promise<Reply>
  /** One command, at the server that has the key; without a key at any. */
  run<T>(verb: string, command: (client: Redis) => Promise<T>, key?: string): Promise<T>
  /** Resolves when a first attempt to reach all of them has ended, well or not; it goes on either way. */
  connect(): Promise<void>
  /** Resolves when all of them have been reached. */
  whenReady(): Promise<void>
  /** Those that are written to, as far as they are known. */
  masters(): readonly RedisConnection[]
  close(): void
}
