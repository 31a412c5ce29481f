// Which requests a rule guards, what becomes of those that lack a part of it, and what passes untouched.
import t from 'tap'
import { fingerprintOf, replayed, stage } from '../helpers/stage.ts'

const guarded = (answer: { headers: Record<string, unknown> }) => answer.headers['idempotency-fingerprint'] !== undefined

t.test('without rules: POST and PATCH that carry a key are guarded, everything else passes', async (t) => {
  const { upstream, ask } = await stage(t, {})
  for (const method of ['POST', 'PATCH']) {
    t.ok(guarded(await ask('/any/where?x=1', { method, key: 'k', body: { n: 1 } })), method)
    t.ok(replayed(await ask('/any/where?x=1', { method, key: 'k', body: { n: 1 } })))
    t.equal((await ask('/any/where?x=2', { method, key: 'k', body: { n: 1 } })).status, 422)
    t.equal((await ask('/any/where?x=1', { method, key: 'k', body: { n: 2 } })).status, 422)
  }
  t.equal(upstream.count(), 2)
  for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS', 'HEAD'])
    for (const _ of [1, 2]) t.notOk(guarded(await ask('/any/where', { method, key: 'k' })), method)
  for (const _ of [1, 2]) t.notOk(guarded(await ask('/any/where', { body: { n: 1 } })), 'no key')
  t.equal(upstream.count(), 2 + 12)
  t.equal((await ask('/any/where', { key: '', body: {} })).status, 400, 'a key that is no key is told to its sender')
  t.ok(guarded(await ask('/bytes', { key: 'k', body: Buffer.from([0, 255, 1]), headers: { 'content-type': 'image/png' } })), 'any body')
  t.equal((await ask('/bytes', { key: 'k', body: Buffer.from([0, 255, 2]), headers: { 'content-type': 'image/png' } })).status, 422)
})

const rule = (settings: string) => `
  - name: r
    match: { methods: [POST, GET], path: /r }
    fingerprint: { user: header.x-user, item: body.item }
    ${settings}
`

t.test('onMissing: refuse names the selector', async (t) => {
  const { upstream, ask } = await stage(t, { rules: rule('onMissing: refuse') })
  for (const answer of [
    await ask('/r', { headers: { 'x-user': 'u' }, body: { other: 'private' } }),
    await ask('/r', { headers: { 'x-user': 'u' } }),
    await ask('/r', { method: 'GET', headers: { 'x-user': 'u' } }),
  ]) {
    t.equal(answer.status, 400)
    t.equal(answer.headers['oncegate-error'], 'field-missing')
    t.match(answer.json(), { detail: /body\.item/, retry: 'never' })
    t.notMatch(answer.text, 'private')
  }
  t.match((await ask('/r', { body: { item: 1 } })).json().detail, 'header.x-user')
  t.equal(upstream.count(), 0)
})

t.test('onMissing: pass forwards unguarded', async (t) => {
  const { upstream, ask } = await stage(t, { rules: rule('onMissing: pass') })
  for (const _ of [1, 2]) {
    const answer = await ask('/r', { headers: { 'x-user': 'u' }, raw: '{ "other" : 1 }' })
    t.equal(answer.status, 200)
    t.notOk(guarded(answer))
    t.equal(answer.headers['idempotency-unguarded'], undefined, 'as the rule says, not for want of a store')
  }
  t.equal(upstream.count(), 2)
  t.equal(upstream.received[0]!.body.toString(), '{ "other" : 1 }')
  t.ok(guarded(await ask('/r', { headers: { 'x-user': 'u' }, body: { item: 1 } })))
})

t.test('onMissing: skip leaves the part out, and without it is another fact', async (t) => {
  const { upstream, ask } = await stage(t, { rules: rule('onMissing: skip') })
  const headers = { 'x-user': 'u' }
  t.notOk(replayed(await ask('/r', { headers, body: { other: 1 } })))
  t.ok(replayed(await ask('/r', { headers, body: { other: 2 } })))
  t.notOk(replayed(await ask('/r', { headers, body: { item: null } })))
  t.notOk(replayed(await ask('/r', { body: { item: null } })))
  t.equal(upstream.count(), 3)
})

t.test('optional parts, defaults, constants and lists of sources', async (t) => {
  const { upstream, ask } = await stage(t, {
    rules: `
  - name: r
    match: { path: /r }
    fingerprint:
      run: { from: [header.x-run, body.run], default: main }
      tag: { from: query.tag, optional: true }
      action: { value: GENERATE }
`,
  })
  t.notOk(replayed(await ask('/r', { body: {} })))
  t.ok(replayed(await ask('/r', { body: { run: 'main' } })), 'the default is a value like any other')
  t.ok(replayed(await ask('/r', { headers: { 'x-run': 'main' }, body: { run: 'x' } })), 'the first source wins')
  t.notOk(replayed(await ask('/r?tag=', { body: {} })), 'empty is not absent')
  t.notOk(replayed(await ask('/r', { body: { run: '2' } })))
  t.notOk(replayed(await ask('/r', { body: { run: 2 } })))
  t.equal(upstream.count(), 4)
})

t.test('mode: off — the rule matches first, and its requests pass untouched', async (t) => {
  const { upstream, ask, gateway } = await stage(t, {
    rules: `
  - { name: pings, match: { path: /ping }, mode: off }
  - { name: rest, fingerprint: { key: header.idempotency-key } }
`,
  })
  for (const _ of [1, 2]) t.notOk(guarded(await ask('/ping', { key: 'k', raw: 'not json' })))
  t.equal(upstream.count(), 2)
  t.equal(upstream.received[0]!.headers['idempotency-execution'], undefined)
  t.match(
    gateway.log.filter(({ path }) => path === '/ping'),
    [
      { rule: 'pings', outcome: 'passed' },
      { rule: 'pings', outcome: 'passed' },
    ],
  )
  t.ok(guarded(await ask('/other', { key: 'k', body: {} })))
})

t.test('the first rule that matches guards; GET where a rule names it', async (t) => {
  const { upstream, ask } = await stage(t, {
    rules: `
  - { name: special, match: { path: /r/special }, fingerprint: { key: header.idempotency-key } }
  - { name: general, match: { methods: [POST, GET], path: '/r/:id' }, fingerprint: { id: path.id } }
`,
  })
  const ruleOf = async (path: string, key: string) => {
    const answer = await ask(path, { key, body: {} })
    return (await ask(`/status/${fingerprintOf(answer)}`, { method: 'GET' })).json().rule
  }
  t.equal(await ruleOf('/r/special', 'k'), 'special')
  t.equal(await ruleOf('/r/other', 'k'), 'general')
  t.ok(guarded(await ask('/r/x', { method: 'GET' })))
  t.ok(replayed(await ask('/r/x', { method: 'GET' })))
  for (const _ of [1, 2]) t.notOk(guarded(await ask('/r/x', { method: 'HEAD' })))
  t.equal(upstream.count(), 2 + 1 + 2)
})

t.test("a body of any type passes, guarded or not: what it says of its type is not the gateway's business", async (t) => {
  const { upstream, ask } = await stage(t, {})
  const types = [
    'text/plain',
    'text/plain; charset=utf-8',
    'application/json',
    'application/x-www-form-urlencoded',
    'image/png',
    'nonsense',
    ';',
  ]
  for (const [n, type] of types.entries()) {
    for (const key of [undefined, `k${n}`]) {
      const headers = { 'content-type': type }
      const answer = await ask('/any', { body: 'not json', headers, ...(key === undefined ? {} : { key }) })
      // With a key the digest reads the body, and JSON has to be JSON.
      if (type === 'application/json' && key !== undefined) t.equal(answer.headers['oncegate-error'], 'body-invalid')
      else t.equal(answer.status, 200, `${type}, ${key === undefined ? 'unguarded' : 'guarded'}`)
    }
  }
  t.equal(upstream.count(), 2 * types.length - 1)
  for (const { body, headers } of upstream.received) {
    t.equal(body.toString(), 'not json')
    t.ok(types.includes(headers['content-type']!))
  }
  for (const method of ['PUT', 'DELETE', 'PROPFIND', 'QUERY']) t.equal((await ask('/any', { method, body: 'text' })).status, 200, method)
})
