// Whose record it is: strangers never meet in one, and nobody's key stands in another's way.
import t from 'tap'
import { fingerprintOf, replayed, stage } from '../helpers/stage.ts'
import { within } from '../helpers/until.ts'
import { json, latch } from '../helpers/upstream.ts'

const PAY = `
  - name: pay
    match: { path: /pay }
    fingerprint: { key: header.idempotency-key }
`
const ORDER = `
  - name: order
    match: { path: /order }
    fingerprint: { order: body.order }
`

t.test("another owner's key neither blocks nor mismatches nor shows anything", async (t) => {
  const door = latch()
  const { upstream, ask } = await stage(t, {
    rules: PAY,
    handler: async ({ headers }, response) => {
      if (headers.authorization === 'Bearer slow') await door.opened
      json(response, 200, { of: headers.authorization })
    },
  })
  const slow = ask('/pay', { as: 'slow', key: 'k1', body: { amount: 1 } })
  await within('the slow one', upstream.arrived(1))
  const quick = await within('the other owner, while the first still runs', ask('/pay', { as: 'quick', key: 'k1', body: { amount: 2 } }))
  t.same(quick.json(), { of: 'Bearer quick' })
  door.open()
  t.same((await slow).json(), { of: 'Bearer slow' })
  t.not(fingerprintOf(await slow), fingerprintOf(quick))
  t.same((await ask('/pay', { as: 'quick', key: 'k1', body: { amount: 2 } })).json(), { of: 'Bearer quick' })
  t.equal(upstream.count(), 2)
})

t.test('without an owner: no key, no guard; a key is its own capability', async (t) => {
  const { upstream, ask } = await stage(t, { rules: PAY + ORDER })
  for (const as of [null, '']) {
    const headers: Record<string, string> = as === null ? {} : { authorization: '  ' }
    for (const n of [1, 2]) {
      const answer = await ask('/order', { as: null, headers, body: { order: 7 } })
      t.equal(answer.status, 200)
      t.notOk(replayed(answer), `stranger ${n}, ${as === null ? 'no header' : 'a blank header'}`)
      t.equal(answer.headers['idempotency-fingerprint'], undefined, 'forwarded unguarded')
    }
  }
  t.equal(upstream.count('/order'), 4)
  const anonymous = await ask('/pay', { as: null, key: 'unguessable', body: {} })
  t.ok(replayed(await ask('/pay', { as: null, key: 'unguessable', body: {} })))
  t.notOk(replayed(await ask('/pay', { as: 'a', key: 'unguessable', body: {} })), 'somebody is not nobody')
  t.notOk(replayed(await ask('/pay', { as: null, key: 'another', body: {} })))
  t.ok(fingerprintOf(anonymous).length >= 20)
  t.equal(upstream.count('/pay'), 3)
})

t.test('owner: none is one record for everybody', async (t) => {
  const { upstream, ask } = await stage(t, { rules: `${ORDER}    owner: none\n` })
  t.notOk(replayed(await ask('/order', { as: 'a', body: { order: 7 } })))
  t.ok(replayed(await ask('/order', { as: 'b', body: { order: 7 } })))
  t.ok(replayed(await ask('/order', { as: null, body: { order: 7 } })))
  t.equal(upstream.count(), 1)
})

t.test('of a list the first that the request has; what one source says is not what another says', async (t) => {
  const { upstream, ask } = await stage(t, { rules: `${ORDER}    owner: [header.x-user, cookie.session, header.x-device]\n` })
  const owners: Record<string, string>[] = [
    { 'x-user': 'ann' },
    { cookie: 'session=ann' },
    { 'x-device': 'ann' },
    { cookie: 'session=bob; other=1' },
    { cookie: 'other=ann', 'x-device': 'bob' },
  ]
  const order = (headers: Record<string, string>) => ask('/order', { as: null, headers, body: { order: 7 } })
  for (const headers of owners) t.notOk(replayed(await order(headers)), JSON.stringify(headers))
  t.equal(upstream.count(), owners.length)
  t.ok(replayed(await order({ 'x-user': 'ann', cookie: 'session=bob', 'x-device': 'eve' })), 'the first in the list decides')
  t.ok(replayed(await order({ 'x-user': '', cookie: 'a=b; session=bob' })), 'a blank one is not there')
  t.notOk(replayed(await order({ cookie: 'session=' })))
  t.notOk(replayed(await order({ cookie: 'session=' })), 'no owner at all')
  t.equal(upstream.count(), owners.length + 2)
})

t.test('ip: the connection, or behind a trusted proxy the address that it names', async (t) => {
  const order = { as: null, body: { order: 7 } }
  const direct = await stage(t, { rules: `${ORDER}    owner: ip\n` })
  await direct.ask('/order', { ...order, headers: { 'x-forwarded-for': '203.0.113.1' } })
  t.ok(
    replayed(await direct.ask('/order', { ...order, headers: { 'x-forwarded-for': '203.0.113.2' } })),
    'a stranger may say what he likes',
  )
  t.equal(direct.upstream.count(), 1)
  const behind = await stage(t, { rules: `${ORDER}    owner: ip\n`, top: 'trustProxy: [127.0.0.1/32]' })
  await behind.ask('/order', { ...order, headers: { 'x-forwarded-for': '203.0.113.1' } })
  t.notOk(replayed(await behind.ask('/order', { ...order, headers: { 'x-forwarded-for': '203.0.113.2' } })))
  t.ok(replayed(await behind.ask('/order', { ...order, headers: { 'x-forwarded-for': '198.51.100.9, 203.0.113.1' } })))
  t.equal(behind.upstream.count(), 2)
})
