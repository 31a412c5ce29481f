// A connection to whichever server the sentinels name, which leaves that one when they name another.
import type { RedisAddress } from '../../model/redis-address.ts'
import type { StoreOptions } from '../store-options.ts'
import { RedisConnection } from './connect.ts'

type SentinelAddress = Extract<RedisAddress, { kind: 'sentinel' }>

const LOOK_EVERY_MS = 1000

export class SentinelConnection extends RedisConnection {
  /** To one sentinel, and to the next where that is lost. */
  readonly #sentinel: RedisConnection
  readonly #name: string
  readonly #timer: NodeJS.Timeout
  #epoch: number | undefined

  constructor(address: SentinelAddress, options: StoreOptions) {
    super(behindSentinel(address, options.timeoutMs), options)
    this.#name = address.name
    let turn = 0
    const next = () => sentinelAccess(address, turn++)
    this.#sentinel = new RedisConnection(next, { ...options, warn: () => undefined, replicasAck: 0 })
    void this.#sentinel.connect()
    this.#timer = setInterval(() => void this.#look().catch(() => undefined), LOOK_EVERY_MS).unref()
  }

  override close(): void {
    clearInterval(this.#timer)
    this.#sentinel.close()
    super.close()
  }

  /**
   * A master that stood still, or that the others have lost from sight, serves those who are connected to it as if nothing had happened,
   * for ten seconds and more. A sentinel that is behind says what it said before: only a later epoch is news.
   */
  async #look(): Promise<void> {
    if (!this.#sentinel.ready) return
    const reply: unknown = await this.#sentinel.run('sentinel', (client) => client.call('SENTINEL', 'MASTER', this.#name))
    const words = Array.isArray(reply) ? reply.map(String) : []
    const epoch = Number(words[words.indexOf('config-epoch') + 1])
    if (Number.isNaN(epoch)) return
    const known = this.#epoch ?? epoch
    this.#epoch = Math.max(known, epoch)
    if (epoch > known) this.reconnect()
  }
}

function sentinelAccess({ sentinels, tls, sentinelUsername, sentinelPassword }: SentinelAddress, turn: number) {
  const { host, port } = sentinels[turn % sentinels.length]!
  return {
    host,
    port,
    ...(sentinelUsername !== undefined && { username: sentinelUsername }),
    ...(sentinelPassword !== undefined && { password: sentinelPassword }),
    ...(tls && { tls: {} }),
  }
}

/** The driver asks the sentinels anew for each connection, and takes no server that is not a master. */
function behindSentinel(address: SentinelAddress, timeoutMs: number) {
  const { sentinels, name, db, username, password, tls, sentinelUsername, sentinelPassword } = address
  return {
    sentinels: [...sentinels],
    name,
    db,
    role: 'master' as const,
    // A sentinel that stands still must not hold up the others.
    sentinelCommandTimeout: timeoutMs,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(sentinelUsername !== undefined && { sentinelUsername }),
    ...(sentinelPassword !== undefined && { sentinelPassword }),
    ...(tls && { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true }),
  }
}
