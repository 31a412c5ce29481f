// From an address to connections: to one server, to whichever one the sentinels name, or to the nodes of a cluster.
import type { RedisAddress } from '../../model/redis-address.ts'
import type { StoreOptions } from '../store-options.ts'
import { RedisCluster } from './cluster.ts'
import { RedisConnection } from './connect.ts'
import { SentinelConnection } from './sentinel.ts'
import type { RedisServers } from './servers.ts'

/** The servers, and a connection that only subscribes. */
export function openServers(address: RedisAddress, options: StoreOptions): { servers: RedisServers; subscriber: RedisConnection } {
  // A subscriber's warnings would repeat the others'.
  const quiet = { ...options, warn: () => undefined, replicasAck: 0 }
  switch (address.kind) {
    case 'single':
      return { servers: new RedisConnection(address.url, options), subscriber: new RedisConnection(address.url, quiet) }
    case 'sentinel': {
      return { servers: new SentinelConnection(address, options), subscriber: new SentinelConnection(address, quiet) }
    }
    case 'cluster': {
      const servers = new RedisCluster(address, options)
      // Whatever is published at one node is heard at each: any will do, and the next one when that is lost.
      return { servers, subscriber: new RedisConnection(servers.anyNode, quiet) }
    }
  }
}
