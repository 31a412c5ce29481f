// The store contract behind Sentinel and on a cluster, with and without replicas that acknowledge.
import t from 'tap'
import { openStore } from '../../src/stores/open-store.ts'
import { startCluster } from '../helpers/redis-cluster.ts'
import { startSentinel } from '../helpers/redis-sentinel.ts'
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
