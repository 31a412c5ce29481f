// Operators find records: all of them page by page, by what they are, by a client's key, by a request; and remove those that are meant.
import t, { type Test } from 'tap'
import { type Answer, send, type SendOptions } from '../helpers/client.ts'
import { fingerprintOf, stage } from '../helpers/stage.ts'
import { json } from '../helpers/upstream.ts'

const RULES = `
  - name: pay
    match: { path: /pay }
    fingerprint: { key: header.idempotency-key }
  - name: book
    match: { path: '/rooms/:room' }
    fingerprint: { room: path.room, day: body.day }
`

async function scene(t: Test) {
  const { ask, upstream, gateway } = await stage(t, {
    rules: RULES,
    handler: (request, response) => {
      const said = request.body.toString()
      if (said.includes('breaks')) response.destroy()
      else if (!said.includes('runs')) json(response, said.includes('fails') ? 500 : 200, { ran: upstream.count() })
    },
  })
  const pay = (key: string, what: string, as = 'a') => ask('/pay', { key, as, body: { what } })
  const admin = (method: string, path: string, options: SendOptions = {}): Promise<Answer> =>
    send(`${gateway.adminUrl}${path}`, { method, ...options })
  return { pay, ask, upstream, gateway, admin }
}

interface Page {
  records: { fingerprint: string; status: string; rule: string; owner?: string; last_updated_at: string }[]
  cursor: string | null
}

type Scene = Awaited<ReturnType<typeof scene>>

async function listed({ admin }: Scene, query = ''): Promise<Page['records']> {
  const records: Page['records'] = []
  let cursor: string | null = null
  for (let pages = 0; pages < 100; pages++) {
    const answer = await admin('GET', `/records?${query}${cursor === null ? '' : `&cursor=${cursor}`}`)
    const page = answer.json() as Page
    records.push(...page.records)
    cursor = page.cursor
    if (cursor === null) return records
  }
  throw new Error('no end')
}

t.test('the list: every record once, in pages, by rule, status, owner and time', async (t) => {
  const all = await scene(t)
  const { pay, ask, admin } = all
  const made = new Map<string, string>()
  for (let n = 0; n < 12; n++) {
    const status = (['completed', 'failed', 'unknown'] as const)[n % 3]!
    const answer = await pay(`k${n}`, { completed: 'works', failed: 'fails', unknown: 'breaks' }[status], n < 6 ? 'a' : 'b')
    made.set(fingerprintOf(answer), status)
  }
  const between = new Date().toISOString()
  await new Promise((resolve) => setTimeout(resolve, 5))
  const booked = fingerprintOf(await ask('/rooms/7', { body: { day: 1 } }))
  const names = (records: Page['records']) => records.map(({ fingerprint }) => fingerprint).sort()
  const everything = [...made.keys(), booked].sort()
  t.same(names(await listed(all)), everything)
  for (const limit of [1, 2, 5]) t.same(names(await listed(all, `limit=${limit}`)), everything, `in pages of ${limit}`)
  t.equal(((await admin('GET', '/records?limit=2')).json() as Page).records.length, 2)
  const ofStatus = (...statuses: string[]) => [...made].filter(([, status]) => statuses.includes(status)).map(([name]) => name)
  t.same(names(await listed(all, 'status=unknown&limit=2')), ofStatus('unknown').sort())
  t.same(names(await listed(all, 'rule=pay&status=unknown,failed')), ofStatus('unknown', 'failed').sort())
  t.same(names(await listed(all, 'rule=book')), [booked])
  t.same(await listed(all, 'rule=other'), [])
  const [one] = await listed(all, 'status=unknown')
  t.match(one, { rule: 'pay', status: 'unknown', owner: /^[A-Za-z0-9_-]{32}$/ })
  t.equal((await listed(all, `owner=${one!.owner}`)).length, 6 + (one!.owner === (await listed(all, 'rule=book'))[0]!.owner ? 1 : 0))
  t.same(names(await listed(all, `since=${between}`)), [booked])
  t.same(names(await listed(all, `until=${between}`)), [...made.keys()].sort())
})

t.test('a list that cannot be meant is refused', async (t) => {
  const { admin } = await scene(t)
  for (const query of ['status=lost', 'since=yesterday', 'limit=0', 'limit=501', 'limit=x', 'stati=unknown', 'cursor=%20', 'rule=a&rule=b'])
    t.match(await admin('GET', `/records?${query}`), { status: 400, headers: { 'oncegate-error': 'request-invalid' } }, query)
  t.match((await admin('GET', '/records')).json(), { records: [], cursor: null, looked: 0 })
})

t.test('a record tells its life: attempts, failures, what an operator said, and why', async (t) => {
  const { pay, admin, upstream } = await scene(t)
  const fingerprint = fingerprintOf(await pay('k', 'breaks'))
  t.equal((await admin('POST', `/records/${fingerprint}/release?reason=${encodeURIComponent('ticket 7: nö')}`)).status, 200)
  await pay('k', 'breaks')
  const shown = (await admin('GET', `/records/${fingerprint}`)).json() as { timeline: Record<string, unknown>[] }
  t.match(shown, { status: 'unknown', attempt: 2, duplicates: 1, owner: /./, started_at: /T/ })
  t.match(
    shown.timeline.map(({ from, to, attempt, by, reason }) => ({ from, to, attempt, by, reason })),
    [
      { from: 'none', to: 'processing', by: 'record' },
      { to: 'unknown', by: 'gateway' },
      { from: 'unknown', to: 'failed', by: 'operator', reason: 'ticket 7: nö' },
      { from: 'failed', to: 'processing', attempt: 2, by: 'gateway' },
      { to: 'unknown', by: 'gateway' },
    ],
  )
  t.equal(shown.timeline.length, 5)
  t.equal(upstream.count(), 2)
  const long = await admin('POST', `/records/${fingerprint}/release?reason=${'x'.repeat(501)}`)
  t.match(long, { status: 400, headers: { 'oncegate-error': 'request-invalid' } })
})

t.test('purge: the record is forgotten, so that the next request executes; one that runs stays', async (t) => {
  const { pay, admin, gateway, upstream } = await scene(t)
  const fingerprint = fingerprintOf(await pay('k', 'works'))
  t.match(await pay('k', 'works'), { headers: { 'idempotency-replayed': 'true' } })
  t.match((await admin('DELETE', `/records/${fingerprint}?reason=asked%20for`)).json(), { fingerprint, status: 'completed' })
  t.match(await admin('GET', `/records/${fingerprint}`), { status: 404 })
  t.match(await admin('DELETE', `/records/${fingerprint}`), { status: 404, headers: { 'oncegate-error': 'unknown-fingerprint' } })
  t.match((await pay('k', 'works')).json(), { ran: 2 })
  const line = gateway.log.find(({ audit, refused }) => audit === 'purge' && refused === undefined)
  t.match(line, { fingerprint, reason: 'asked for', rule: 'pay', before: 'completed', after: 'removed', address: '127.0.0.1' })

  const running = pay('r', 'runs').catch(() => {})
  await upstream.arrived(3)
  const name = String(upstream.received[2]?.headers['idempotency-fingerprint'])
  const refused = await admin('DELETE', `/records/${name}`)
  t.match(refused, { status: 409, headers: { 'oncegate-error': 'still-running' } })
  t.match(refused.json(), { record_status: 'processing' })
  t.match((await admin('GET', `/records/${name}`)).json(), { status: 'processing', lease_left_ms: Number })
  await send(`${gateway.url}/status/${name}`, { method: 'DELETE', headers: { authorization: 'Bearer a' } })
  await running
})

t.test('purge by rule or owner: what is settled goes; what is unknown only where it is named; a dry run counts', async (t) => {
  const all = await scene(t)
  const { pay, ask, admin, gateway } = all
  for (let n = 0; n < 9; n++) await pay(`k${n}`, ['works', 'fails', 'breaks'][n % 3]!)
  await ask('/rooms/7', { body: { day: 1 } })
  const purge = async (body: object) => (await admin('POST', '/records/purge', { body })).json() as object
  t.match(await purge({ rule: 'pay', dry_run: true }), { dry_run: true, matched: 6, removed: 0, cursor: null })
  t.equal((await listed(all)).length, 10)
  t.match(await purge({ rule: 'pay', reason: 'a test' }), { dry_run: false, matched: 6, removed: 6, cursor: null })
  t.equal(gateway.log.filter(({ audit, reason }) => audit === 'purge' && reason === 'a test').length, 6, 'a line for each')
  t.same(new Set((await listed(all)).map(({ rule, status }) => `${rule} ${status}`)), new Set(['pay unknown', 'book completed']))
  t.match(await purge({ rule: 'pay', status: 'unknown' }), { removed: 3 })
  const [book] = await listed(all)
  t.match(await purge({ owner: book?.owner }), { removed: 1 })
  t.same(await listed(all), [])
  const wrong = [
    {},
    { status: 'failed' },
    { rule: 'pay', status: 'processing' },
    { rule: 'pay', dryRun: true },
    { rule: 'pay', dry_run: 1 },
  ]
  for (const body of wrong) t.equal((await admin('POST', '/records/purge', { body })).status, 400, JSON.stringify(body))
  t.equal((await admin('POST', '/records/purge', { body: 'x' })).status, 400)
})

t.test('find: the record of a client’s key, or of a request, and nothing of what is in it', async (t) => {
  const { pay, ask, admin, gateway } = await scene(t)
  const paid = fingerprintOf(await pay('order-77', 'works'))
  const find = (body: object) => admin('POST', '/records/find', { body })
  const headers = { Authorization: 'Bearer a' }
  const byKey = await find({ rule: 'pay', key: 'order-77', headers })
  t.match(byKey.json(), { rule: 'pay', outcome: 'guarded', fingerprint: paid, records: [{ fingerprint: paid, status: 'completed' }] })
  const ofOther = await find({ rule: 'pay', key: 'order-77', headers: { Authorization: 'Bearer b' } })
  t.match(ofOther.json(), { outcome: 'guarded', records: [] })
  t.not((ofOther.json() as { fingerprint: string }).fingerprint, paid)
  t.match((await find({ rule: 'pay', key: 'order-77' })).json(), { outcome: 'guarded', records: [] })

  const booked = fingerprintOf(await ask('/rooms/7', { body: { day: '2024-05-22' } }))
  const told = { method: 'POST', url: '/rooms/7', headers, body: '{ "day": "2024-05-22" }' }
  t.match((await find(told)).json(), { rule: 'book', fingerprint: booked, records: [{ fingerprint: booked }] })
  t.match((await find({ ...told, body: '{' })).json(), { outcome: 'refused', problem: { name: 'body-invalid' }, fingerprint: null })
  t.match((await find({ ...told, url: '/nowhere' })).json(), { outcome: 'unmatched', rule: null, records: [] })
  for (const body of [{}, { url: 'x' }, { rule: 'pay', key: 7 }, { rule: 'no', key: 'k' }, { rule: 'book', key: 'k' }, { ...told, x: 1 }])
    t.match(await find(body), { status: 400, headers: { 'oncegate-error': 'request-invalid' } }, JSON.stringify(body))
  t.notMatch(JSON.stringify(gateway.log), /order-77|Bearer/)

  const explained = await admin('POST', '/explain', { body: told })
  t.match(explained.json(), { rule: 'book', outcome: 'guarded', fingerprint: booked, parts: [{ name: 'day' }, { name: 'room' }] })
})
