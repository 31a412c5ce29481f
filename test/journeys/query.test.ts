// The query is part of what a key stands for.
import t from 'tap'
import { replayed, stage } from '../helpers/stage.ts'

t.test('with a key: another query is another content', async (t) => {
  const { upstream, ask } = await stage(t, {})
  t.equal((await ask('/transfer?to=alice', { key: 'k1', body: {} })).status, 200)
  const mallory = await ask('/transfer?to=mallory', { key: 'k1', body: {} })
  t.equal(mallory.status, 422)
  t.same(mallory.json().differs, ['query.to'])
  t.equal((await ask('/transfer', { key: 'k1', body: {} })).status, 422, 'absent is not present')
  t.equal((await ask('/kb?dry=1', { key: 'k1', body: {} })).status, 200)
  t.equal((await ask('/kb', { key: 'k1', body: {} })).status, 422)
  t.same(
    upstream.received.map(({ url }) => url),
    ['/transfer?to=alice', '/kb?dry=1'],
  )
})

t.test('compared decoded, without the order of different names, with that of equal ones', async (t) => {
  const { upstream, ask } = await stage(t, {
    rules: '\n  - { name: r, match: { path: /r }, fingerprint: { q: query } }\n',
  })
  const groups = [
    ['?r=a&r=b', '?%72=a&r=%62', '?r=a&&r=b&'],
    ['?r=a,b', '?r=a%2Cb', '?r=a%2cb'],
    ['?r[]=a&r[]=b', '?r%5B%5D=a&r%5b%5d=b'],
    ['?r=b&r=a'],
    ['?r=a&s=b', '?s=b&r=a'],
    ['?r=a%26s=b', '?r=a%26s%3Db'],
    ['?r=a+b', '?r=a%20b'],
    ['?r=a%2Bb'],
    ['?r', '?r='],
    ['', '?', '?&'],
  ]
  for (const [first = '', ...others] of groups) {
    t.notOk(replayed(await ask(`/r${first}`, { body: {} })), first)
    for (const other of others) t.ok(replayed(await ask(`/r${other}`, { body: {} })), `${other} is ${first}`)
  }
  t.equal(upstream.count(), groups.length)
  t.equal(upstream.received[1]!.url, '/r?r=a,b', 'forwarded as it came')
})
