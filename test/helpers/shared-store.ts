// The stores that several gateways can share, each fresh for one test.
import { RedisServer } from './redis-server.ts'
import { temporaryDirectory } from './temporary-directory.ts'

export interface SharedStore {
  /** As the configuration names it. */
  readonly url: string
  readonly remove: () => Promise<void>
}

export const SHARED_STORES: Readonly<Record<'redis' | 'lmdb', () => Promise<SharedStore>>> = {
  redis: async () => {
    const server = await RedisServer.start()
    return { url: server.url, remove: () => server.stop() }
  },
  lmdb: async () => {
    const directory = await temporaryDirectory()
    return { url: `lmdb:${directory.path}`, remove: directory.remove }
  },
}
