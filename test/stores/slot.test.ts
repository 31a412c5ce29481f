import t from 'tap'
import { slotOf } from '../../src/stores/redis/slot.ts'
import { ask } from '../helpers/redis-replicated.ts'
import { freePort, RedisServer } from '../helpers/redis-server.ts'

t.test('a key has the slot that Redis gives it', async (t) => {
  const server = await RedisServer.start(['--cluster-enabled', 'yes', '--cluster-port', String(await freePort())])
  t.teardown(() => server.stop())
  const keys = ['', 'a', '123456789', '{a}b', 'oncegate:{abc}def:lease', '{}x', 'x{', 'a}{b}', '{{a}}', 'x{a}{b}', 'oncegate:secret']
  await ask(server.port, async (client) => {
    for (const key of keys) t.equal(slotOf(key), await client.call('CLUSTER', 'KEYSLOT', key), key)
  })
})
