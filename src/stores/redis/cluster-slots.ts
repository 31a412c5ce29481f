// What CLUSTER SLOTS answers: https://redis.io/docs/latest/commands/cluster-slots/
import type { HostPort } from '../../model/redis-address.ts'

export interface SlotRange {
  readonly from: number
  /** Inclusive. */
  readonly to: number
  readonly master: HostPort
  readonly replicas: readonly HostPort[]
}

/** `asked` is the host that was asked: a node that does not know its own name leaves it out. */
export function readSlots(reply: unknown, asked: string): SlotRange[] {
  return list(reply).map((range) => {
    const [from, to, ...nodes] = list(range)
    const [master, ...replicas] = nodes.map((node) => {
      const [host, port] = list(node)
      return { host: typeof host === 'string' && host !== '' && host !== '?' ? host : asked, port: Number(port) }
    })
    if (master === undefined) throw new TypeError('CLUSTER SLOTS answered with a range of nobody')
    return { from: Number(from), to: Number(to), master, replicas }
  })
}

/** `host:port`, where an IPv6 address has colons, too. */
export function readHost(address: string, asked: string): HostPort {
  const colon = address.lastIndexOf(':')
  return { host: address.slice(0, colon) || asked, port: Number(address.slice(colon + 1)) }
}

function list(reply: unknown): readonly unknown[] {
  if (!Array.isArray(reply)) throw new TypeError('CLUSTER SLOTS answered with no list')
  return reply
}
