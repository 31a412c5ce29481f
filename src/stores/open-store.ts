// Opens the store that an address names, loading only that store's driver.
import { readLmdbAddress } from '../config/lmdb-address.ts'
import { readRedisAddress } from '../model/redis-address.ts'
import type { StoreOptions } from './store-options.ts'
import type { Store } from './store.ts'

/** `memory:`, what `readLmdbAddress` and `readRedisAddress` take, `postgres://…`. A server that is down does not stop a gateway from starting. */
export async function openStore(url: string, options: StoreOptions): Promise<Store> {
  const scheme = url.slice(0, url.indexOf(':') + 1)
  switch (scheme) {
    case 'memory:': {
      const { MemoryStore } = await import('./memory/memory-store.ts')
      return new MemoryStore()
    }
    case 'lmdb:': {
      const { directory, maxBytes } = readLmdbAddress(url)
      const { LmdbStore } = await import('./lmdb/lmdb-store.ts')
      return new LmdbStore(directory, { ...options, maxBytes })
    }
    case 'redis:':
    case 'rediss:':
    case 'redis+sentinel:':
    case 'rediss+sentinel:':
    case 'redis+cluster:':
    case 'rediss+cluster:': {
      const address = readRedisAddress(url)
      if (address === undefined) break
      const { openRedisStore } = await import('./redis/redis-store.ts')
      return openRedisStore(address, options)
    }
    case 'postgres:':
    case 'postgresql:': {
      const { openPostgresStore } = await import('./postgres/postgres-store.ts')
      return openPostgresStore(url, options)
    }
  }
  throw new RangeError(
    'no store for this address: it should begin with memory:, lmdb:, redis://, redis+sentinel://, redis+cluster:// or postgres://',
  )
}
