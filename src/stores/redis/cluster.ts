// A Redis Cluster as one place: each script goes to the node that has its slot, and after a fail-over to the one that has it then.
import type { Redis } from 'ioredis'
import type { RedisAddress } from '../../model/redis-address.ts'
import { withDeadline } from '../deadline.ts'
import type { StoreOptions } from '../store-options.ts'
import { ClusterNodes } from './cluster-nodes.ts'
import type { RedisConnection, Reply, ScriptRun } from './connect.ts'
import type { RedisServers } from './servers.ts'
import { slotOf } from './slot.ts'

/** Nodes that know no better than to send each other's clients away. */
const MOST_MOVES = 3

/**
 * The driver has a cluster of its own, which sends a command again by itself when a node is lost, also long after whoever asked has been
 * refused: a claim of nobody's. Here what was sent is sent again only where the node has said that it did nothing.
 */
export class RedisCluster implements RedisServers {
  readonly #nodes: ClusterNodes
  readonly #timeoutMs: number
  /** For a connection that any node will do for: the next one at each call. */
  readonly anyNode: () => { host: string; port: number }

  constructor(address: Extract<RedisAddress, { kind: 'cluster' }>, options: StoreOptions) {
    this.#timeoutMs = options.timeoutMs
    this.#nodes = new ClusterNodes(address, options)
    this.anyNode = () => this.#nodes.nextAddress()
  }

  script(verb: string, run: ScriptRun): Promise<Reply> {
    return withDeadline(verb, this.#timeoutMs, this.#send(slotOf(run.keys[0]!), run, performance.now() + this.#timeoutMs))
  }

  async run<T>(verb: string, command: (client: Redis) => Promise<T>, key?: string): Promise<T> {
    const node = key === undefined ? this.#nodes.anyReady() : this.#nodes.of(slotOf(key))
    if (node !== undefined) return node.run(verb, command)
    return withDeadline(verb, this.#timeoutMs, this.#nobody())
  }

  connect(): Promise<void> {
    return this.#nodes.connect()
  }

  whenReady(): Promise<void> {
    return this.#nodes.whenReady()
  }

  masters(): readonly RedisConnection[] {
    return this.#nodes.masters()
  }

  close(): void {
    this.#nodes.close()
  }

  #send(slot: number, run: ScriptRun, endsAt: number, moves = 0): Promise<Reply> {
    const node = this.#nodes.of(slot)
    if (node === undefined) return this.#nobody()
    return node.attempt(run, endsAt).catch(async (error: Error) => {
      const [word, , address] = error.message.split(' ')
      if (word === 'MOVED' && address !== undefined && moves < MOST_MOVES && performance.now() < endsAt) {
        await this.#nodes.moved(slot, address, node)
        if (performance.now() < endsAt) return this.#send(slot, run, endsAt, moves + 1)
      }
      // Also a slot that is being moved (ASK, TRYAGAIN): three keys of which not all are there yet are refused by both of its nodes.
      this.#nodes.askSoon()
      throw error
    })
  }

  #nobody(): Promise<never> {
    this.#nodes.askSoon()
    return Promise.reject(new Error('no node of the cluster is known to have the slot'))
  }
}
