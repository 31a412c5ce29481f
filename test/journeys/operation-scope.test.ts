// The same content or key on another operation is another wish.
import t from 'tap'
import { RedisServer } from '../helpers/redis-server.ts'
import { fingerprintOf, replayed, stage } from '../helpers/stage.ts'
import { json, startUpstream } from '../helpers/upstream.ts'

t.test('rules that read the same field never share a record', async (t) => {
  const { upstream, ask } = await stage(t, {
    rules: `
  - { name: a, match: { path: /a }, fingerprint: { item: body.item } }
  - { name: b, match: { path: /b }, fingerprint: { item: body.item } }
`,
    handler: ({ url }, response) => json(response, 200, { from: url }),
  })
  t.same((await ask('/a', { body: { item: 'x' } })).json(), { from: '/a' })
  const b = await ask('/b', { body: { item: 'x' } })
  t.same(b.json(), { from: '/b' })
  t.notOk(replayed(b))
  t.equal(upstream.count('/a'), 1)
  t.equal(upstream.count('/b'), 1)
})

t.test('a rule of another name is another operation, though the store and everything else is the same', async (t) => {
  const redis = await RedisServer.start()
  t.teardown(() => redis.stop())
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const rules = '\n  - { name: old, match: { path: /a }, fingerprint: { item: body.item } }\n'
  const old = await stage(t, { rules, store: redis.url, upstream })
  const renamed = await stage(t, { rules: rules.replace('old', 'new'), store: redis.url, upstream })
  await old.ask('/a', { body: { item: 'x' } })
  t.notOk(replayed(await renamed.ask('/a', { body: { item: 'x' } })))
  t.ok(replayed(await old.ask('/a', { body: { item: 'x' } })))
  t.equal(upstream.count(), 2)
})

t.test('within one rule, method, pattern and concrete path tell operations apart', async (t) => {
  const { upstream, ask } = await stage(t, {
    rules: `
  - name: things
    match: { methods: [POST, PATCH, PUT], path: [/things/:id, /things/:id/lock, /all/*, /one/:name] }
    fingerprint: { item: body.item }
`,
  })
  const seen = new Set<string>()
  const wishes = [
    ['POST', '/things/1'],
    ['PATCH', '/things/1'],
    ['PUT', '/things/1'],
    ['POST', '/things/2'],
    ['POST', '/things/1/lock'],
    ['POST', '/all/1'],
    ['POST', '/all/1/2'],
    ['POST', '/all/1%2F2'],
    ['POST', '/one/1'],
  ] as const
  for (const [method, path] of wishes) {
    const answer = await ask(path, { method, body: { item: 'x' } })
    t.equal(answer.status, 200)
    t.notOk(replayed(answer), `${method} ${path} executes`)
    seen.add(fingerprintOf(answer))
  }
  t.equal(seen.size, wishes.length)
  t.equal(upstream.count(), wishes.length)
  t.ok(replayed(await ask('/things/1', { body: { item: 'x' } })), 'and each still has its own record')
})

t.test('a client key used again on another operation executes there, and shows nothing of the first', async (t) => {
  const { upstream, ask } = await stage(t, {
    handler: ({ url }, response) => json(response, 201, { kind: url.slice(1) }),
  })
  t.same((await ask('/projects', { key: 'k1', body: {} })).json(), { kind: 'projects' })
  const other = await ask('/applications', { key: 'k1', body: {} })
  t.equal(other.status, 201)
  t.same(other.json(), { kind: 'applications' })
  t.same((await ask('/projects/7/pay', { key: 'k1', body: {} })).json(), { kind: 'projects/7/pay' }, 'on the created object too')
  t.same((await ask('/projects', { key: 'k1', body: {}, method: 'PATCH' })).headers['idempotency-replayed'], undefined)
  t.equal(upstream.count(), 4)
})
