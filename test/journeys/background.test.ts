// Executions that nobody waits for: in the background, followed on the status page, cancelled by their owner.
import t from 'tap'
import { behind } from '../helpers/behind.ts'
import { type Answer, send } from '../helpers/client.ts'
import { type Handler, json, latch } from '../helpers/upstream.ts'
import { until, within } from '../helpers/until.ts'

const ASYNC = `
  - name: work
    match: { path: /work }
    fingerprint: { key: header.idempotency-key }
    async: true
    lease: 1s
  - name: plain
    match: { path: /plain }
    fingerprint: { key: header.idempotency-key }
`

const OWNER = { authorization: 'Bearer a' }
const asking = (key: string, prefer = 'respond-async') => ({ headers: { ...OWNER, 'idempotency-key': key, prefer } })

/** An upstream that answers when it is let; it tells when its request was cut off. */
function held() {
  const door = latch()
  const cut = latch()
  const handler: Handler = async (_request, response) => {
    response.on('close', () => response.writableFinished || cut.open())
    await door.opened
    json(response, 200, { done: true })
  }
  return { door, cut, handler }
}

function location(answer: Answer): string {
  return String(answer.headers.location)
}

t.test('respond-async: 202 with the place to ask, one execution, and then the result', async (t) => {
  const { door, handler } = held()
  const { gateway, upstream } = await behind(t, { rules: ASYNC, handler })
  const accepted = await send(`${gateway.url}/work`, asking('k'))
  t.match(accepted, { status: 202, headers: { 'preference-applied': 'respond-async' } })
  t.equal(location(accepted), `/status/${String(accepted.headers['idempotency-fingerprint'])}`)
  t.match(accepted.json(), { status: 'processing', status_url: location(accepted) })
  await upstream.arrived(1)
  t.match(await send(`${gateway.url}/work`, asking('k')), { status: 202 }, 'a duplicate that prefers the same')
  t.match(await send(`${gateway.url}/work`, { headers: { ...OWNER, 'idempotency-key': 'k' } }), { status: 425 }, 'one that does not')
  t.match((await send(gateway.url + location(accepted), { method: 'GET' })).json(), { status: 'processing' })
  door.open()
  const waited = await send(`${gateway.url + location(accepted)}?wait=5`, { method: 'GET' })
  t.match(waited.json(), { status: 'completed', http_status: 200, result_url: `${location(accepted)}/result` })
  t.match(await send(`${gateway.url + location(accepted)}/result`, { method: 'GET', headers: OWNER }), {
    status: 200,
    text: '{"done":true}',
  })
  const replayed = await send(`${gateway.url}/work`, asking('k'))
  t.match(replayed, { status: 200, text: '{"done":true}', headers: { 'idempotency-replayed': 'true' } })
  t.equal(upstream.count(), 1)
})

t.test('a rule without async: true executes as ever', async (t) => {
  const { gateway, upstream } = await behind(t, { rules: ASYNC })
  const answer = await send(`${gateway.url}/plain`, asking('k'))
  t.match(answer, { status: 200, text: '{"execution":1}' })
  t.equal(answer.headers['preference-applied'], undefined)
  t.equal(upstream.count(), 1)
})

t.test('a shutdown waits for what runs in the background', async (t) => {
  const { door, handler } = held()
  const { gateway, upstream } = await behind(t, { rules: ASYNC, handler })
  await send(`${gateway.url}/work`, asking('k'))
  await upstream.arrived(1)
  let closed = false
  const closing = gateway.close().then(() => (closed = true))
  await new Promise((resolve) => setTimeout(resolve, 100))
  t.notOk(closed)
  door.open()
  await within('the gateway ends when the execution has', closing)
})

t.test('the status page as an event stream tells each transition and ends with the last', async (t) => {
  const { door, handler } = held()
  const { gateway, upstream } = await behind(t, { rules: ASYNC, handler })
  const status = gateway.url + location(await send(`${gateway.url}/work`, asking('k')))
  await upstream.arrived(1)
  let text = ''
  const headers = { accept: 'text/event-stream' }
  const streamed = send(status, { method: 'GET', headers, onData: (chunk) => (text += chunk.toString()) })
  await until('the first event', () => text.includes('\n\n'))
  door.open()
  const { whole, headers: answered } = await streamed
  t.ok(whole)
  t.match(answered, { 'content-type': 'text/event-stream' })
  const events = text.split('\n\n').filter((event) => event !== '')
  t.same(
    events
      .map((event) => /^event: status\ndata: (.*)$/.exec(event)?.[1])
      .map((data) => (JSON.parse(data ?? '{}') as { status: string }).status),
    ['processing', 'completed'],
  )
  t.match(
    (await send(status, { method: 'GET', headers })).text,
    /^event: status\ndata: .*"status":"completed".*\n\n$/,
    'an ended one: once',
  )
})

t.test('DELETE cancels a running execution for its owner, and for nobody else', async (t) => {
  const { cut, handler } = held()
  const { gateway, upstream } = await behind(t, { rules: ASYNC, handler })
  const status = gateway.url + location(await send(`${gateway.url}/work`, asking('k')))
  await upstream.arrived(1)
  for (const headers of [[], ['Authorization', 'Bearer b']]) {
    t.match(await send(status, { method: 'DELETE', headers }), { status: 404, headers: { 'oncegate-error': 'unknown-fingerprint' } })
  }
  const cancelled = await send(status, { method: 'DELETE', headers: OWNER })
  t.match(cancelled, { status: 200 })
  t.match(cancelled.json(), { status: 'unknown' }, 'it was sent, so it may have happened')
  await within('the upstream is told', cut.opened)
  t.match(await send(status, { method: 'DELETE', headers: OWNER }), { status: 200 }, 'again: nothing runs')
  t.match(await send(`${gateway.url}/work`, asking('k', 'wait=1')), { status: 409, headers: { 'oncegate-error': 'outcome-unknown' } })
  t.equal(upstream.count(), 1)
})

t.test('/result joins a stream in flight when it is asked for events', async (t) => {
  const doors = [latch(), latch()]
  const { gateway, upstream } = await behind(t, {
    rules: ASYNC,
    handler: async (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders()
      for (const [n, door] of doors.entries()) {
        await door.opened
        response.write(`data: ${n}\n\n`)
      }
      response.end()
    },
  })
  const result = `${gateway.url + location(await send(`${gateway.url}/work`, asking('k')))}/result`
  await upstream.arrived(1)
  t.match(await send(result, { method: 'GET', headers: OWNER }), { status: 425 }, 'not asked for')
  let text = ''
  const headers = { ...OWNER, accept: 'text/event-stream' }
  const joined = send(result, { method: 'GET', headers, onData: (chunk) => (text += chunk.toString()) })
  doors[0]!.open()
  await until('the first event', () => text === 'data: 0\n\n')
  doors[1]!.open()
  t.match(await joined, { status: 200, text: 'data: 0\n\ndata: 1\n\n', whole: true })
  t.match(await send(result, { method: 'GET', headers: { ...headers, authorization: 'Bearer b' } }), { status: 404 })
  t.equal(upstream.count(), 1)
})
