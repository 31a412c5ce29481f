// With an SDK of the operator's own a request leaves five spans, and a replay leads to the trace that executed.
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { type Answer, lines, send } from '../helpers/client.ts'
import { gatewayProcess, type GatewayProcess } from '../helpers/gateway-process.ts'
import { repositoryPath } from '../helpers/repository.ts'
import { SHARED_STORES } from '../helpers/shared-store.ts'
import { fingerprintOf, replayed, stage } from '../helpers/stage.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import { startTraceReceiver, type TraceReceiver } from '../helpers/trace-receiver.ts'
import { until, within } from '../helpers/until.ts'
import { json, latch, startUpstream, type TestUpstream } from '../helpers/upstream.ts'

const SDK = fileURLToPath(new URL('../helpers/otel-sdk.js', import.meta.url))
const FIVE = ['intent_parsed', 'state_checked', 'execution_granted', 'side_effect_executed', 'result_returned']

const RULES = `
  - name: pay
    match: { path: /pay }
    fingerprint: { key: header.idempotency-key }
    inFlight: { answer: attach }
  - name: background
    match: { path: /background }
    fingerprint: { key: header.idempotency-key }
    async: true
`

interface Scene {
  readonly receiver: TraceReceiver
  readonly upstream: TestUpstream
  readonly gateway: GatewayProcess
  readonly store: string
  readonly start: (env?: NodeJS.ProcessEnv) => Promise<GatewayProcess>
}

async function scene(
  t: Test,
  { env, sdk = SDK, store = 'lmdb' }: { env?: NodeJS.ProcessEnv; sdk?: string; store?: keyof typeof SHARED_STORES } = {},
): Promise<Scene> {
  const [receiver, upstream, shared] = await Promise.all([startTraceReceiver(), startUpstream(), SHARED_STORES[store]()])
  const started: GatewayProcess[] = []
  t.teardown(async () => {
    await Promise.all(started.map((gateway) => gateway.kill()))
    await Promise.all([receiver.close(), upstream.close(), shared.remove()])
  })
  const start = async (more: NodeJS.ProcessEnv = {}) => {
    const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...more }
    const gateway = await gatewayProcess({
      upstream: upstream.url,
      store: shared.url,
      rules: RULES,
      env: traced,
      nodeOptions: ['--import', sdk],
    })
    started.push(gateway)
    return gateway
  }
  return { receiver, upstream, store: shared.url, gateway: await start(env), start }
}

function pay(gateway: { url: string }, key: string, headers: Record<string, string> = {}, path = '/pay'): Promise<Answer> {
  return send(gateway.url + path, {
    headers: { authorization: 'Bearer secret-of-a', 'idempotency-key': key, ...headers },
    body: { card: 'secret-card' },
  })
}

t.test('an execution: five spans of one trace, in their order, each with the fingerprint', async (t) => {
  const { receiver, upstream, gateway } = await scene(t)
  const answer = await pay(gateway, 'k1')
  const result = await receiver.span('result_returned')
  const spans = FIVE.map((name) => receiver.spans.find((span) => span.name === name)!)
  t.same(receiver.spans.map(({ name }) => name).toSorted(), FIVE.toSorted(), 'one of each')
  for (const span of spans) {
    t.equal(span.attributes.bsu_fingerprint, fingerprintOf(answer), span.name)
    t.equal(span.traceId, result.traceId)
  }
  const [intent, state, grant, effect] = spans
  t.notOk(intent!.parentSpanId, 'the first is the root')
  t.same(
    [state, grant, result].map((span) => span?.parentSpanId),
    [intent!.spanId, intent!.spanId, intent!.spanId],
  )
  t.equal(effect!.parentSpanId, grant!.spanId)
  const starts = spans.map(({ startTimeUnixNano }) => BigInt(startTimeUnixNano))
  t.same(
    starts.toSorted((a, b) => (a < b ? -1 : 1)),
    starts,
  )
  t.equal(state!.attributes['oncegate.found'], 'acquired')
  t.equal(grant!.attributes['oncegate.execution'], upstream.received[0]!.headers['idempotency-execution'])
  t.same([effect!.attributes['http.response.status_code'], result.attributes['oncegate.outcome']], [200, 'executed'])
  t.equal(upstream.received[0]!.headers.traceparent, `00-${effect!.traceId}-${effect!.spanId}-01`, 'the upstream can go on with it')
})

t.test('a replay is a trace of its own, with a link to the one that executed; nobody else sees that name', async (t) => {
  for (const store of ['lmdb', 'redis', 'postgres'] as const) {
    const { receiver, gateway, upstream } = await scene(t, { store })
    await pay(gateway, 'k1')
    const grant = await receiver.span('execution_granted')
    const again = await pay(gateway, 'k1')
    t.ok(replayed(again))
    const returned = await receiver.span('result_returned', ({ attributes }) => attributes['oncegate.outcome'] === 'replayed')
    t.not(returned.traceId, grant.traceId)
    t.match(returned.links, [{ traceId: grant.traceId, spanId: grant.spanId }], store)
    const own = receiver.spans.filter(({ traceId }) => traceId === returned.traceId)
    t.same(own.map(({ name }) => name).toSorted(), ['intent_parsed', 'result_returned', 'state_checked'])
    t.equal(own.find(({ name }) => name === 'state_checked')!.attributes['oncegate.found'], 'completed')
    const result = await send(`${gateway.url}/status/${fingerprintOf(again)}/result`, {
      method: 'GET',
      headers: { authorization: 'Bearer secret-of-a' },
    })
    for (const answer of [again, result]) {
      t.equal(answer.status, 200)
      t.same(lines(answer, 'oncegate-trace'), [])
    }
    t.equal(upstream.count(), 1)
  }
})

t.test('whoever joins a stream, at another gateway, is led to its execution as well', async (t) => {
  const { receiver, upstream, gateway, start } = await scene(t)
  const other = await start()
  const [head, door] = [latch(), latch()]
  upstream.handle(async (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/plain', 'Oncegate-Trace': '00-00000000000000000000000000000001-0000000000000001-01' })
    response.write('a')
    await door.opened
    response.end('b')
  })
  const first = send(`${gateway.url}/pay`, { headers: { authorization: 'Bearer a', 'idempotency-key': 'k' }, body: {}, onHead: head.open })
  await within('the head', head.opened)
  const joining = latch()
  const second = send(`${other.url}/pay`, {
    headers: { authorization: 'Bearer a', 'idempotency-key': 'k' },
    body: {},
    onHead: joining.open,
  })
  await within('the head of whoever joins', joining.opened)
  door.open()
  for (const answer of await Promise.all([first, second])) {
    t.equal(answer.text, 'ab')
    t.same(lines(answer, 'oncegate-trace'), [])
  }
  const grant = await receiver.span('execution_granted')
  const joined = await receiver.span('result_returned', ({ attributes }) => attributes['oncegate.outcome'] === 'attached')
  t.match(joined.links, [{ traceId: grant.traceId, spanId: grant.spanId }])
})

t.test('traceparent passes through as the client sent it, and the spans are of its trace', async (t) => {
  const { receiver, upstream, gateway } = await scene(t)
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  await pay(gateway, 'k1', { traceparent, tracestate: 'vendor=1' })
  const { headers } = upstream.received[0]!
  t.same([headers.traceparent, headers.tracestate], [traceparent, 'vendor=1'])
  const intent = await receiver.span('intent_parsed')
  t.same([intent.traceId, intent.parentSpanId], ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'])

  // A client that does not sample: nothing is recorded, and the header still goes on.
  const unsampled = '00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00'
  await pay(gateway, 'k2', { traceparent: unsampled })
  t.equal(upstream.received[1]!.headers.traceparent, unsampled)
  await pay(gateway, 'k3')
  await receiver.span('result_returned', ({ traceId }) => traceId !== intent.traceId)
  t.notOk(receiver.spans.some(({ traceId }) => traceId === '1af7651916cd43dd8448eb211c80319c'))
})

t.test('what goes wrong is seen in the spans: refused, broken, in the background', async (t) => {
  const { receiver, upstream, gateway } = await scene(t)
  t.equal((await send(`${gateway.url}/pay`, { headers: { authorization: 'Bearer a' }, body: {} })).status, 400)
  const refused = await receiver.span('intent_parsed')
  t.equal(refused.attributes['oncegate.outcome'], 'key-missing')

  upstream.handle((_request, response) => void response.destroy())
  t.equal((await pay(gateway, 'broken')).status, 502)
  const effect = await receiver.span('side_effect_executed')
  t.ok(effect.failed)
  const grant = await receiver.span('execution_granted')
  t.same([grant.failed, grant.attributes['oncegate.result']], [true, 'unknown'])
  const returned = await receiver.span('result_returned')
  t.same([returned.attributes['oncegate.outcome'], returned.attributes['http.response.status_code']], ['upstream-broken', 502])

  const door = latch()
  upstream.handle(async (_request, response) => {
    await door.opened
    json(response, 200, {})
  })
  t.equal((await pay(gateway, 'later', { prefer: 'respond-async' }, '/background')).status, 202)
  const accepted = await receiver.span('result_returned', ({ attributes }) => attributes['oncegate.outcome'] === 'accepted')
  door.open()
  const later = await receiver.span('execution_granted', ({ traceId }) => traceId === accepted.traceId)
  t.equal(later.attributes['oncegate.result'], 'completed')
})

t.test('no credential, key, query, field or body is in any span, and the log tells of the same fingerprint', async (t) => {
  const { receiver, gateway } = await scene(t)
  const headers = { cookie: 'session=secret-cookie', 'x-api-key': 'secret-api-key' }
  const answer = await pay(gateway, 'secret-idempotency-key', headers, '/pay?token=secret-query')
  await receiver.span('result_returned')
  t.notMatch(receiver.text(), /secret/)
  const find = () => gateway.log.find(({ msg }) => msg === 'request')
  await until('the log line', () => find() !== undefined)
  const logged = find()
  t.equal(logged?.fingerprint, fingerprintOf(answer))
  t.ok(receiver.spans.every(({ attributes }) => attributes.bsu_fingerprint === logged?.fingerprint))
})

t.test('what the SDK still holds at the end gets out', async (t) => {
  // As an operator has it: elsewhere, with a copy of the API of its own.
  const directory = await temporaryDirectory()
  t.teardown(() => directory.remove())
  const sdk = join(directory.path, 'otel-sdk.mjs')
  await cp(repositoryPath('node_modules/@opentelemetry'), join(directory.path, 'node_modules/@opentelemetry'), { recursive: true })
  await cp(SDK, sdk)
  const { receiver, gateway } = await scene(t, { sdk, env: { OTEL_BSP_SCHEDULE_DELAY: '600000' } })
  await pay(gateway, 'k1')
  t.same(receiver.spans, [])
  gateway.signal('SIGTERM')
  t.equal((await within('the end', gateway.ended, 10_000)).code, 0)
  t.equal(receiver.spans.length, 5)
})

t.test('without an SDK there are no traces: nothing is added for the upstream, nothing is kept for replays', async (t) => {
  const { ask, upstream } = await stage(t, { rules: RULES })
  await ask('/pay', { key: 'k', body: {} })
  t.notOk('traceparent' in upstream.received[0]!.headers)
  t.ok(replayed(await ask('/pay', { key: 'k', body: {} })))
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  await ask('/pay', { key: 'k2', body: {}, headers: { traceparent } })
  t.equal(upstream.received[1]!.headers.traceparent, traceparent)
})
