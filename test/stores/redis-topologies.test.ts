// The store contract behind Sentinel and on a cluster, with and without replicas that acknowledge.
import t from 'tap'
import { openStore } from '../../src/stores/open-store.ts'
import { startCluster } from '../helpers/redis-cluster.ts'
import { ask } from '../helpers/redis-replicated.ts'
import { startSentinel } from '../helpers/redis-sentinel.ts'
import { freePort, RedisServer } from '../helpers/redis-server.ts'
import { until } from '../helpers/until.ts'
import { acquireOf, newFingerprint } from './requests.ts'
import { storeContract } from './store-contract.ts'

t.setTimeout(120_000)

const topologies = { sentinel: startSentinel, cluster: startCluster }

for (const [name, start] of Object.entries(topologies)) {
  t.test(name, async (t) => {
    const servers = await start()
    t.teardown(() => servers.stop())
    for (const replicasAck of [0, 1]) {
      await t.test(`keeps the contract, replicasAck ${replicasAck}`, async (t) => {
        const open = () => openStore(servers.url, { timeoutMs: 5000, warn: (message) => t.comment(message), replicasAck })
        await storeContract(t, async () => ({ store: await open(), peer: await open() }))
      })
    }
  })
}

const WORDS = ['SETUSER', 'gate', 'on', '>p@w', '~*', '&*', '+@all']

t.test('a user and a password, of the servers and of the sentinels', async (t) => {
  const server = await RedisServer.start(['--cluster-enabled', 'yes', '--cluster-port', String(await freePort())])
  const plain = await RedisServer.start()
  const sentinel = await RedisServer.prepareSentinel(() => [`sentinel monitor once 127.0.0.1 ${plain.port} 1`])
  await sentinel.restart()
  t.teardown(async () => {
    for (const each of [sentinel, server, plain]) await each.stop()
  })
  await ask(server.port, (client) => client.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383'))
  await until('a cluster of one', async () =>
    (await ask(server.port, (client) => client.call('CLUSTER', 'INFO') as Promise<string>)).includes(':ok'),
  )
  for (const { port } of [server, plain]) await ask(port, (client) => client.call('ACL', ...WORDS))
  await ask(sentinel.port, (client) => client.call('ACL', 'SETUSER', 'watch', 'on', '>s&p', '&*', '+@all'))
  for (const { port } of [server, plain, sentinel]) await ask(port, (client) => client.call('ACL', 'SETUSER', 'default', 'off'))

  const options = { timeoutMs: 1000, warn: () => undefined }
  const works = async (url: string): Promise<string> => {
    const store = await openStore(url, options)
    try {
      return (await store.acquire(acquireOf(newFingerprint()))).kind
    } catch (error) {
      return String(error)
    } finally {
      await store.close()
    }
  }
  const watch = '?sentinelUsername=watch&sentinelPassword=s%26p'
  t.equal(await works(`redis+cluster://gate:p%40w@127.0.0.1:${server.port}`), 'acquired')
  t.equal(await works(`redis+sentinel://gate:p%40w@127.0.0.1:${sentinel.port}/once/2${watch}`), 'acquired')
  t.match(await works(`redis+cluster://gate:other@127.0.0.1:${server.port}`), 'StoreUnavailable')
  t.match(await works(`redis+sentinel://gate:p%40w@127.0.0.1:${sentinel.port}/once`), 'StoreUnavailable')
})
