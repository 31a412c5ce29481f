// The demo backend does what README shows: it is slow, streams, and counts its executions.
import OpenAI from 'openai'
import t from 'tap'
import { startDemoAgent } from '../../src/cli/demo-agent.ts'

async function started(t: Tap, log?: (line: string) => void) {
  const agent = await startDemoAgent({ host: '127.0.0.1', port: 0, ...(log && { log }) })
  t.teardown(() => agent.close())
  const post = (path: string, body: unknown) =>
    fetch(agent.url + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  return { agent, post }
}
type Tap = Pick<typeof t, 'teardown'>

t.test('generate takes its time and tells which execution it was', async (t) => {
  const lines: string[] = []
  const { agent, post } = await started(t, (line) => lines.push(line))
  const begin = performance.now()
  const response = await post('/v1/generate', { task: '42', section: 'intro', seconds: 0.2 })
  t.ok(performance.now() - begin >= 190, 'it took as long as it was told')
  t.match(await response.json(), { execution: 1, task: '42', section: 'intro', text: /once/ })
  t.match(await (await post('/v1/generate', { seconds: 0 })).json(), { execution: 2 })
  t.same(agent.executions(), { total: 2, paths: { '/v1/generate': 2 } })
  t.match(lines[0], 'POST /v1/generate: execution 1')
})

t.test('generate streams tokens as events that end with [DONE]', async (t) => {
  const { post } = await started(t)
  const response = await post('/v1/generate', { stream: true, seconds: 0.1 })
  t.equal(response.headers.get('content-type'), 'text/event-stream')
  const events = (await response.text()).split('\n\n')
  t.equal(events.pop(), '', 'the last event is whole')
  t.equal(events.pop(), 'data: [DONE]')
  t.ok(events.length > 5)
  t.match(JSON.parse(events[0]?.slice('data: '.length) ?? ''), { execution: 1, index: 0, token: 'A ' })
})

t.test("chat completions are what OpenAI's SDK reads: word by word, and whole", async (t) => {
  const { agent } = await started(t)
  const client = new OpenAI({ baseURL: `${agent.url}/v1`, apiKey: 'demo', maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'why?' }]
  const ask = { model: 'any', messages, seconds: 0.05 }
  const stream = await client.chat.completions.create({ ...ask, stream: true })
  const words: string[] = []
  const ends: unknown[] = []
  for await (const { id, model, choices } of stream) {
    t.match({ id, model }, { id: 'chatcmpl-1', model: 'any' })
    words.push(choices[0]?.delta.content ?? '')
    ends.push(choices[0]?.finish_reason)
  }
  t.match(words.join(''), /^You asked: “why\?” .* once\.$/)
  t.same(ends, [...Array.from({ length: words.length - 1 }, () => null), 'stop'])
  const whole = await client.chat.completions.create(ask)
  t.match(whole, { id: 'chatcmpl-2', choices: [{ message: { role: 'assistant', content: words.join('') }, finish_reason: 'stop' }] })
  t.match(await client.chat.completions.create({ ...ask, messages: [] }), { id: 'chatcmpl-3', object: 'chat.completion' })
})

t.test('the page is there, and not counted', async (t) => {
  const { agent } = await started(t)
  const response = await fetch(agent.url)
  t.equal(response.headers.get('content-type'), 'text/html')
  t.match(await response.text(), /^<!doctype html>[^]*<\/html>\n$/)
  t.equal(agent.executions().total, 0)
})

t.test('a client that leaves does not stop the work', async (t) => {
  const { agent } = await started(t)
  const leave = new AbortController()
  const gone = fetch(`${agent.url}/v1/generate`, { method: 'POST', body: '{"seconds":0.05}', signal: leave.signal })
  while (agent.executions().total === 0) await new Promise((resolve) => setImmediate(resolve))
  leave.abort()
  await t.rejects(gone)
  t.equal(agent.executions().total, 1)
  t.equal((await fetch(`${agent.url}/executions`)).status, 200, 'and the agent is well')
})

t.test('pay answers at once, fail answers 503 and then 200', async (t) => {
  const { agent, post } = await started(t)
  t.match(await (await post('/v1/pay', { amount: 5, currency: 'EUR' })).json(), { payment: 'pay_1', amount: 5, status: 'succeeded' })
  t.equal((await post('/v1/fail', {})).status, 503)
  t.equal((await post('/v1/fail', {})).status, 200)
  t.same(await (await fetch(`${agent.url}/executions`)).json(), { total: 3, paths: { '/v1/pay': 1, '/v1/fail': 2 } })
})

t.test('echo shows the request as it came: method, target, header lines, body', async (t) => {
  const { agent } = await started(t)
  const response = await fetch(`${agent.url}/echo?a=1`, { method: 'PUT', headers: { 'X-Way': 'through' }, body: 'not json' })
  const { method, url, headers, body } = (await response.json()) as Record<string, unknown>
  t.match({ method, url, body }, { method: 'PUT', url: '/echo?a=1', body: 'not json' })
  t.match(JSON.stringify(headers), /\["x-way","through"\]/i)
})

t.test('a bad body and an unknown path are refused and not counted', async (t) => {
  const { agent, post } = await started(t)
  t.equal((await fetch(`${agent.url}/v1/pay`, { method: 'POST', body: '{' })).status, 400)
  t.equal((await post('/v1/pay', [1])).status, 400)
  t.equal((await post('/nowhere', {})).status, 404)
  t.equal((await fetch(`${agent.url}/v1/pay`)).status, 404, 'pay is POST only')
  t.equal(agent.executions().total, 0)
})

t.test('closing ends running work; a taken port is an error', async (t) => {
  const agent = await startDemoAgent({ host: '127.0.0.1', port: 0 })
  const running = fetch(`${agent.url}/v1/generate`, { method: 'POST', body: '{"seconds":60}' })
  running.catch(() => {})
  while (agent.executions().total === 0) await new Promise((resolve) => setImmediate(resolve))
  await t.rejects(startDemoAgent({ host: '127.0.0.1', port: Number(new URL(agent.url).port) }), { code: 'EADDRINUSE' })
  await agent.close()
  await t.rejects(running)
})
