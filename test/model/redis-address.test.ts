import t from 'tap'
import { readRedisAddress } from '../../src/model/redis-address.ts'

t.test('one server is left to the driver', async (t) => {
  for (const url of ['redis://h', 'rediss://user:p%40w@h:1/2?family=6']) t.same(readRedisAddress(url), { kind: 'single', url })
  for (const url of ['lmdb:./data', 'postgres://h/d', 'redis', 'rediss+x://h']) t.equal(readRedisAddress(url), undefined)
})

t.test('sentinels: hosts, user, name, database and TLS', async (t) => {
  t.same(readRedisAddress('redis+sentinel://h1,h2:5000,[::1]:7/main'), {
    kind: 'sentinel',
    username: undefined,
    password: undefined,
    tls: false,
    sentinels: [
      { host: 'h1', port: 26379 },
      { host: 'h2', port: 5000 },
      { host: '::1', port: 7 },
    ],
    name: 'main',
    db: 0,
    sentinelUsername: undefined,
    sentinelPassword: undefined,
  })
  t.match(readRedisAddress('rediss+sentinel://us%3Aer:p%40%2Fw@h1/main/3?sentinelUsername=s&sentinelPassword=p%26q'), {
    username: 'us:er',
    password: 'p@/w',
    tls: true,
    name: 'main',
    db: 3,
    sentinelUsername: 's',
    sentinelPassword: 'p&q',
  })
  t.match(readRedisAddress('redis+sentinel://:secret@h1/main'), { username: undefined, password: 'secret' })
})

t.test('a cluster: hosts, user and TLS', async (t) => {
  t.same(readRedisAddress('rediss+cluster://u:p@h1,h2:7001'), {
    kind: 'cluster',
    username: 'u',
    password: 'p',
    tls: true,
    nodes: [
      { host: 'h1', port: 6379 },
      { host: 'h2', port: 7001 },
    ],
  })
})

t.test('what is wrong is said without the address, which may hold a password', async (t) => {
  const wrong = [
    'redis://',
    'redis+sentinel://u:pw@h1',
    'redis+sentinel://u:pw@h1/',
    'redis+sentinel://u:pw@h1/name/x',
    'redis+sentinel://u:pw@h1/name/0/1',
    'redis+sentinel://u:pw@h1,,h2/name',
    'redis+sentinel://u:pw@/name',
    'redis+cluster://u:pw@h1/0',
    'redis+cluster://u:pw@h1:99999',
    'redis+cluster://u:%pw@h1',
    'redis+cluster:',
  ]
  for (const url of wrong) {
    try {
      readRedisAddress(url)
      t.fail(url)
    } catch (error) {
      t.type(error, RangeError, url)
      t.notMatch(String(error), 'pw')
    }
  }
})
