// JSON is compared as what it says; what two parsers would read differently is refused.
import t from 'tap'
import { testGateway } from '../helpers/gateway.ts'
import { replayed, stage } from '../helpers/stage.ts'

const WHOLE = `
  - name: whole
    match: { path: /whole }
    fingerprint: { request: body }
`

t.test('the order of members and white space do not matter, the order of items does', async (t) => {
  const { upstream, ask } = await stage(t, { rules: WHOLE })
  await ask('/whole', { raw: '{"a":1,"b":{"c":1,"d":[1,2]}}' })
  t.ok(replayed(await ask('/whole', { raw: ' { "b": {"d" : [1, 2],\n"c": 1 }, "a": 1 }\r\n' })))
  t.ok(replayed(await ask('/whole', { raw: String.raw`{"\u0061":1,"b":{"c":1,"d":[1,2]}}` })), 'an escape is spelling')
  t.notOk(replayed(await ask('/whole', { raw: '{"a":1,"b":{"c":1,"d":[2,1]}}' })))
  t.notOk(replayed(await ask('/whole', { raw: '{"a":1,"b":{"c":1,"d":[1,2],"e":null}}' })), 'null is not absent')
  t.equal(upstream.count(), 3)
})

t.test('a repeated member is refused, at any depth', async (t) => {
  const { upstream, ask } = await stage(t, { rules: WHOLE })
  for (const raw of ['{"a":1,"a":1}', '{"x":[{"a":1,"b":2,"a":3}]}', String.raw`{"a":1,"\u0061":2}`, '{"__proto__":1,"__proto__":2}']) {
    const answer = await ask('/whole', { raw })
    t.equal(answer.status, 400, raw)
    t.equal(answer.headers['oncegate-error'], 'body-invalid')
  }
  t.equal(upstream.count(), 0)
})

t.test('__proto__ and its like are names like any other', async (t) => {
  const { upstream, ask } = await stage(t, { rules: WHOLE })
  const raws = [
    '{"__proto__":{"x":1},"b":2}',
    '{"b":2}',
    '{"__proto__":{"x":2},"b":2}',
    '{"constructor":{"prototype":{"x":1}},"b":2}',
    '{"hasOwnProperty":1,"b":2}',
    '{"toString":null,"b":2}',
  ]
  for (const raw of raws) {
    const answer = await ask('/whole', { raw })
    t.equal(answer.status, 200, raw)
    t.notOk(replayed(answer), raw)
  }
  t.ok(replayed(await ask('/whole', { raw: '{"b":2,"__proto__":{"x":1}}' })))
  t.equal(upstream.count(), raws.length)
  t.equal(({} as { x?: unknown }).x, undefined)
})

t.test('a body that is nested too deeply for its rule is refused, and the next one is answered', async (t) => {
  const { upstream, ask } = await stage(t, {
    rules: `${WHOLE}  - { name: anywhere, match: { path: /anywhere }, fingerprint: { x: body..x } }\n`,
  })
  const deep = (levels: number) => `${'{"a":'.repeat(levels)}{"x":1}${'}'.repeat(levels)}`
  for (const [path, levels] of [
    ['/anywhere', 48],
    ['/anywhere', 500],
    ['/whole', 512],
    ['/whole', 100_000],
  ] as const) {
    const answer = await ask(path, { raw: deep(levels) })
    t.equal(answer.status, 400, `${path} ${levels}`)
    t.equal(answer.headers['oncegate-error'], 'body-invalid')
    t.match(answer.json().detail, /deeper/)
  }
  t.equal(upstream.count(), 0)
  t.equal((await ask('/anywhere', { raw: deep(47) })).status, 200)
  t.ok(replayed(await ask('/anywhere', { raw: '{"x":1.0}' })), 'what is found is what counts')
  t.equal((await ask('/whole', { raw: deep(511) })).status, 200)
  t.equal(upstream.count(), 2)
})

t.test('a rule file with a repeated key does not start', async (t) => {
  const start = testGateway({ upstream: 'http://127.0.0.1:1', rules: `${WHOLE}    ttl: 1h\n    ttl: 1s\n` })
  const error = await start.then(
    async (gateway) => gateway.close(),
    (thrown: unknown) => thrown,
  )
  t.match(String(error), /:9:5: .*twice/, 'the message has the place')
})
