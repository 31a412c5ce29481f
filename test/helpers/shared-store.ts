// The stores that several gateways can share, each fresh for one test.
import { PostgresServer } from './postgres-server.ts'
import { RedisServer } from './redis-server.ts'
import { temporaryDirectory } from './temporary-directory.ts'

export interface SharedStore {
  /** As the configuration names it. */
  readonly url: string
  readonly remove: () => Promise<void>
}

export const SHARED_STORES: Readonly<Record<'redis' | 'lmdb' | 'postgres', () => Promise<SharedStore>>> = {
  redis: async () => {
    const server = await RedisServer.start()
    return { url: server.url, remove: () => server.stop() }
  },
  postgres: async () => {
    const { url, drop } = await (await PostgresServer.shared()).database()
    return { url, remove: drop }
  },
  lmdb: async () => {
    const directory = await temporaryDirectory()
    return { url: `lmdb:${directory.path}`, remove: directory.remove }
  },
}
