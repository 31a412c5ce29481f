// The masters of a Redis Cluster, a connection to each, and which slots it has; asked for anew whenever that may have changed.
import { setTimeout as pause } from 'node:timers/promises'
import type { HostPort, RedisAddress } from '../../model/redis-address.ts'
import { withDeadline } from '../deadline.ts'
import type { StoreOptions } from '../store-options.ts'
import { readHost, readSlots, type SlotRange } from './cluster-slots.ts'
import { RedisConnection } from './connect.ts'
import { SLOTS } from './slot.ts'

/** So often at most, while it may have changed. */
const ASK_EVERY_MS = 100
/** So often at least: addresses of nodes that came since. */
const ASK_AGAIN_MS = 10_000

export class ClusterNodes {
  readonly #access: { username?: string; password?: string; tls?: object }
  readonly #options: StoreOptions
  /** Is asked what has which slots. Its own connection: it has to be to another node whenever one is lost. */
  readonly #scout: RedisConnection
  readonly #masters = new Map<string, RedisConnection>()
  readonly #slots: (RedisConnection | undefined)[] = Array.from({ length: SLOTS })
  readonly #known: Promise<void>
  readonly #timer: NodeJS.Timeout
  #tellKnown!: () => void
  #addresses: readonly HostPort[]
  #turn = 0
  #asking = false
  #askedAt = -Infinity
  #closed = false

  constructor({ nodes, username, password, tls }: Extract<RedisAddress, { kind: 'cluster' }>, options: StoreOptions) {
    this.#options = options
    this.#addresses = nodes
    this.#access = { ...(username !== undefined && { username }), ...(password !== undefined && { password }), ...(tls && { tls: {} }) }
    this.#known = new Promise((resolve) => (this.#tellKnown = resolve))
    // Once nodes are known they speak for themselves.
    const warn = (message: string): void => void (this.#masters.size === 0 && options.warn(message))
    this.#scout = new RedisConnection(() => this.nextAddress(), { ...options, warn, replicasAck: 0 })
    this.#scout.onReady(() => this.askSoon())
    this.#timer = setInterval(() => this.askSoon(), ASK_AGAIN_MS).unref()
  }

  async connect(): Promise<void> {
    await this.#scout.connect()
    const { timeoutMs } = this.#options
    const all = this.whenReady()
    await withDeadline('connect', timeoutMs, all).catch(() => undefined)
  }

  async whenReady(): Promise<void> {
    await this.#known
    await Promise.all(this.masters().map((master) => master.whenReady()))
  }

  of(slot: number): RedisConnection | undefined {
    return this.#slots[slot]
  }

  anyReady(): RedisConnection | undefined {
    return this.masters().find((master) => master.ready)
  }

  masters(): readonly RedisConnection[] {
    return [...this.#masters.values()]
  }

  /** In turn, so that nobody comes back to one that is lost. */
  nextAddress(): HostPort & { username?: string; password?: string; tls?: object } {
    const { host, port } = this.#addresses[this.#turn++ % this.#addresses.length]!
    return { ...this.#access, host, port }
  }

  /** A node says that another one has the slot. Resolves when that can be asked; whoever waits has a limit of his own. */
  async moved(slot: number, address: string, by: RedisConnection): Promise<void> {
    const master = this.#masterAt(readHost(address, by.host))
    this.#slots[slot] = master
    this.askSoon()
    await master.whenReady()
  }

  /** Something is not as it was: who has what is asked in the background, once for all who say so meanwhile. */
  askSoon(): void {
    if (this.#closed || this.#asking) return
    this.#asking = true
    this.#ask()
      .catch(() => this.#scout.reconnect())
      .finally(() => (this.#asking = false))
  }

  close(): void {
    this.#closed = true
    clearInterval(this.#timer)
    this.#scout.close()
    for (const master of this.#masters.values()) master.close()
  }

  async #ask(): Promise<void> {
    const early = this.#askedAt + ASK_EVERY_MS - performance.now()
    if (early > 0) await pause(early, undefined, { ref: false })
    this.#askedAt = performance.now()
    const ranges = await this.#scout.run('slots', async (client) => readSlots(await client.cluster('SLOTS'), this.#scout.host))
    if (this.#closed || ranges.length === 0) return
    this.#apply(ranges)
    // Perhaps it has not heard of a fail-over: the next one is asked next.
    if (this.masters().some((master) => !master.ready)) this.#scout.reconnect()
  }

  #apply(ranges: readonly SlotRange[]): void {
    const masters = new Set<RedisConnection>()
    this.#slots.fill(undefined)
    for (const { from, to, master } of ranges) {
      const connection = this.#masterAt(master)
      masters.add(connection)
      this.#slots.fill(connection, from, to + 1)
    }
    for (const [name, connection] of this.#masters) {
      if (masters.has(connection)) continue
      this.#masters.delete(name)
      connection.close()
    }
    this.#addresses = ranges.flatMap(({ master, replicas }) => [master, ...replicas])
    this.#tellKnown()
  }

  #masterAt({ host, port }: HostPort): RedisConnection {
    const name = `${host}:${port}`
    const known = this.#masters.get(name)
    if (known !== undefined) return known
    const connection = new RedisConnection({ ...this.#access, host, port }, this.#options)
    connection.onClose(() => this.askSoon())
    this.#masters.set(name, connection)
    void connection.connect()
    return connection
  }
}
