// A cluster of three masters with a replica each, all real.
import { slotOf } from '../../src/stores/redis/slot.ts'
import { recordKeys } from '../../src/stores/redis/keys.ts'
import { ask, follows, REPLICATED, type ReplicatedRedis, untilReplicated } from './redis-replicated.ts'
import { freePort, RedisServer } from './redis-server.ts'
import { until } from './until.ts'

const MASTERS = 3
const SLOTS = 16_384
const NODE_TIMEOUT_MS = 1000
const SETTLED_WITHIN_MS = 20_000

export async function startCluster({ settings = [] as readonly string[] } = {}): Promise<ReplicatedRedis> {
  const servers: RedisServer[] = []
  for (let n = 0; n < 2 * MASTERS; n++) {
    const bus = await freePort()
    const clustered = ['--cluster-enabled', 'yes', '--cluster-port', String(bus), '--cluster-node-timeout', String(NODE_TIMEOUT_MS)]
    const promoted = ['--cluster-replica-validity-factor', '0', '--cluster-allow-replica-migration', 'no']
    servers.push(await RedisServer.start([...clustered, ...promoted, ...REPLICATED, ...settings]))
  }
  await join(servers)
  const masterOf = async (fingerprint = ''): Promise<RedisServer | undefined> => {
    const slot = slotOf(recordKeys(fingerprint)[0])
    const found = (await nodesOf(servers)).find(({ slots }) => slots.some(([from, to]) => from <= slot && slot <= to))
    return servers.find(({ port }) => port === found?.port)
  }
  return {
    url: `redis+cluster://${servers.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    servers,
    master: masterOf,
    replicasOf: async (master) => {
      const nodes = await nodesOf(servers)
      const id = nodes.find(({ port }) => port === master.port)?.id
      const ports = nodes.filter(({ master: of }) => of === id).map(({ port }) => port)
      return servers.filter(({ port }) => ports.includes(port))
    },
    settled: async (fingerprint) => {
      await until(
        'a replica of the new master',
        async () => {
          const master = await masterOf(fingerprint)
          if (master === undefined || !(await Promise.all(servers.map(isUp))).every(Boolean)) return false
          return (await Promise.all(servers.map((server) => follows(server, master)))).some(Boolean)
        },
        SETTLED_WITHIN_MS,
      )
    },
    stop: async () => {
      await Promise.all(servers.map((server) => server.stop()))
    },
  }
}

async function join(servers: readonly RedisServer[]): Promise<void> {
  const masters = servers.slice(0, MASTERS)
  for (const [n, { port }] of masters.entries()) {
    const [from, to] = [Math.ceil((n * SLOTS) / MASTERS), Math.ceil(((n + 1) * SLOTS) / MASTERS) - 1]
    await ask(port, async (client) => {
      await client.call('CLUSTER', 'SET-CONFIG-EPOCH', String(n + 1))
      await client.call('CLUSTER', 'ADDSLOTSRANGE', String(from), String(to))
    })
  }
  const [first] = servers
  await ask(first!.port, async (client) => {
    for (const { port, busPort } of await withBusPorts(servers)) {
      await client.call('CLUSTER', 'MEET', '127.0.0.1', String(port), String(busPort))
    }
  })
  await until('nodes that know each other', async () => (await views(servers)).every((nodes) => nodes.length === servers.length), 15_000)
  const nodes = await nodesOf(servers)
  for (const [n, { port }] of servers.slice(MASTERS).entries()) {
    const { id } = nodes.find((node) => node.port === masters[n]!.port)!
    await ask(port, (client) => client.call('CLUSTER', 'REPLICATE', id))
  }
  await Promise.all(masters.map((master) => untilReplicated(master, 1)))
  await until('a cluster that is up', async () => (await Promise.all(servers.map(isUp))).every(Boolean), 15_000)
  await until(
    'replicas that everybody knows',
    async () => (await views(servers)).every((seen) => seen.filter(({ master }) => master !== undefined).length === MASTERS),
    15_000,
  )
}

async function withBusPorts(servers: readonly RedisServer[]): Promise<{ port: number; busPort: number }[]> {
  return Promise.all(
    servers.map(async ({ port }) => {
      const [, busPort] = await ask(port, (client) => client.config('GET', 'cluster-port') as Promise<string[]>)
      return { port, busPort: Number(busPort) }
    }),
  )
}

async function isUp({ port }: RedisServer): Promise<boolean> {
  const info = await ask(port, (client) => client.call('CLUSTER', 'INFO') as Promise<string>).catch(() => '')
  return info.includes('cluster_state:ok')
}

interface Node {
  readonly id: string
  readonly port: number
  readonly failed: boolean
  /** Of a replica: the id of its master. */
  readonly master: string | undefined
  readonly slots: (readonly [from: number, to: number])[]
}

/** As each one that answers sees it. */
async function views(servers: readonly RedisServer[]): Promise<Node[][]> {
  const texts = await Promise.all(
    servers.map(({ port }) => ask(port, (client) => client.call('CLUSTER', 'NODES') as Promise<string>).catch(() => '')),
  )
  return texts.map(readNodes)
}

/** As most of them see it: a node that is alone still takes itself for what it was. */
async function nodesOf(servers: readonly RedisServer[]): Promise<Node[]> {
  const seen = (await views(servers)).filter((nodes) => nodes.length > 0)
  const healthy = seen.toSorted((one, other) => failures(one) - failures(other) || newest(other) - newest(one))
  return healthy[0] ?? []
}

function failures(nodes: readonly Node[]): number {
  return nodes.filter(({ failed }) => failed).length > 1 ? 1 : 0
}

function newest(nodes: readonly Node[]): number {
  return nodes.filter(({ failed, slots }) => !failed && slots.length > 0).length
}

/** Lines of `id host:port@bus flags master ping pong epoch link slots…`. */
function readNodes(text: string): Node[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.includes('handshake'))
    .map((line) => {
      const [id = '', address = '', flags = '', master = '-', , , , , ...slots] = line.trim().split(' ')
      return {
        id,
        port: Number(/:(\d+)@/.exec(address)?.[1]),
        failed: /\bfail\b/.test(flags.replaceAll('?', '')),
        master: master === '-' ? undefined : master,
        slots: slots
          .filter((range) => !range.startsWith('['))
          .map((range) => {
            const [from = 0, to = from] = range.split('-').map(Number)
            return [from, to] as const
          }),
      }
    })
}
