// The openai SDK before a backend that is slower than the SDK is patient: one execution, and the right answer.
import httpProxy from '@fastify/http-proxy'
import fastify from 'fastify'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { send } from '../helpers/client.ts'
import { stage } from '../helpers/stage.ts'
import { until, within } from '../helpers/until.ts'
import { type Handler, json, latch, startUpstream, type TestUpstream } from '../helpers/upstream.ts'

const CHAT = `
  - name: chat
    match: { path: /v1/chat/completions }
    fingerprint: { request: body }
    inFlight: { answer: wait, maxWait: 20s }
`
const QUESTION = { model: 'test', messages: [{ role: 'user' as const, content: 'Write the introduction.' }] }
const WORDS = ['In ', 'the ', 'beginning', '.']

/** A fake of the chat API: JSON, or a stream of events. Every answer bears the number of its execution. */
function chatApi(upstream: TestUpstream, ready: () => Promise<void>): Handler {
  return async ({ body }, response) => {
    const execution = upstream.count()
    await ready()
    const common = { id: `chatcmpl-${execution}`, created: 1, model: 'test' }
    if (JSON.parse(body.toString()).stream !== true) {
      const message = { role: 'assistant', content: WORDS.join('') }
      json(response, 200, { ...common, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }] })
      return
    }
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    for (const content of WORDS) {
      const choices = [{ index: 0, delta: { content }, finish_reason: null }]
      response.write(`data: ${JSON.stringify({ ...common, object: 'chat.completion.chunk', choices })}\n\n`)
    }
    response.end('data: [DONE]\n\n')
  }
}

function sdk(url: string, options: { timeout?: number; maxRetries?: number } = {}): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: 'test', timeout: 10_000, maxRetries: 2, ...options })
}

async function streamed(client: OpenAI): Promise<{ id: string; text: string }> {
  let id = ''
  let text = ''
  for await (const chunk of await client.chat.completions.create({ ...QUESTION, stream: true })) {
    id = chunk.id
    text += chunk.choices[0]?.delta.content ?? ''
  }
  return { id, text }
}

async function whole(client: OpenAI): Promise<{ id: string; text: string }> {
  const { id, choices } = await client.chat.completions.create(QUESTION)
  return { id, text: choices[0]?.message.content ?? '' }
}

const RIGHT = { id: 'chatcmpl-1', text: WORDS.join('') }

/** Opens the door when the SDK has come a second time: `retries` counts the requests that say they are a retry. */
async function scene(t: Test, through: 'gateway' | 'bare proxy') {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const door = latch()
  upstream.handle(chatApi(upstream, () => door.opened))
  if (through === 'gateway') {
    const { gateway } = await stage(t, { rules: CHAT, upstream })
    return { upstream, door, url: gateway.url }
  }
  const proxy = fastify()
  await proxy.register(httpProxy, { upstream: upstream.url })
  t.teardown(() => proxy.close())
  return { upstream, door, url: await proxy.listen({ port: 0, host: '127.0.0.1' }) }
}

/** The SDK's fetch, telling when the n-th attempt (from 1) is sent. */
function counted(onAttempt: (n: number) => void): typeof fetch {
  let attempts = 0
  return (input, init) => {
    onAttempt(++attempts)
    return fetch(input, init)
  }
}

for (const [kind, ask] of [
  ['JSON', whole],
  ['a stream', streamed],
] as const) {
  t.test(`${kind}: a time-out with automatic retry ends in one execution and the right answer`, async (t) => {
    const { upstream, door, url } = await scene(t, 'gateway')
    let attempts = 0
    const client = sdk(url, { timeout: 1000 }).withOptions({
      fetch: counted((n) => {
        attempts = n
        // Not before the SDK has given the first one up and comes again: the answer then is the retry's.
        if (n === 2) door.open()
      }),
    })
    t.same(await within('the answer', ask(client), 10_000), RIGHT)
    t.equal(attempts, 2, 'the SDK did retry')
    t.equal(upstream.count(), 1)
    t.same(await ask(client), RIGHT, 'and it is kept')
    t.equal(upstream.count(), 1)
  })

  t.test(`${kind}: a double click is one execution, and both get the answer`, async (t) => {
    const { upstream, door, url } = await scene(t, 'gateway')
    // Without retries, so that it is the gateway that holds the second.
    const first = ask(sdk(url, { maxRetries: 0 }))
    await within('the first', upstream.arrived(1))
    const second = ask(sdk(url, { maxRetries: 0 }))
    const status = `${url}/status/${String(upstream.received[0]!.headers['idempotency-fingerprint'])}`
    await until('the second click', async () => (await send(status, { method: 'GET' })).json().duplicates > 0)
    door.open()
    t.same(await within('both', Promise.all([first, second]), 10_000), [RIGHT, RIGHT])
    t.equal(upstream.count(), 1)
  })
}

t.test('a bare proxy before the same backend executes twice', async (t) => {
  const { upstream, door, url } = await scene(t, 'bare proxy')
  const answer = whole(sdk(url, { timeout: 1000 }))
  await within('a second execution', upstream.arrived(2))
  door.open()
  t.same(await within('the answer', answer, 10_000), { ...RIGHT, id: 'chatcmpl-2' }, 'paid for twice')
  t.equal(upstream.count(), 2)
})

t.test('a refusal in flight is retried too, when the rule gives no wait', async (t) => {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const door = latch()
  upstream.handle(chatApi(upstream, () => door.opened))
  const { gateway } = await stage(t, { rules: CHAT.replace('answer: wait', 'retryAfter: 50ms'), upstream })
  const first = whole(sdk(gateway.url))
  await within('the first', upstream.arrived(1))
  const statuses: number[] = []
  const observed: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    statuses.push(response.status)
    door.open()
    await first
    return response
  }
  t.same(await within('the second click', whole(sdk(gateway.url).withOptions({ fetch: observed })), 10_000), RIGHT)
  t.same(statuses, [425, 200])
  t.equal(upstream.count(), 1)
})

t.test('a key used for something else is thrown, with its reason, and not retried', async (t) => {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  upstream.handle(chatApi(upstream, () => Promise.resolve()))
  const { gateway } = await stage(t, { upstream })
  const options = { headers: { 'Idempotency-Key': 'k1' } }
  let attempts = 0
  const client = sdk(gateway.url).withOptions({ fetch: counted((n) => (attempts = n)) })
  await client.chat.completions.create(QUESTION, options)
  const error = await client.chat.completions.create({ ...QUESTION, model: 'other' }, options).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  t.ok(error instanceof OpenAI.APIError)
  t.match(error, { status: 422, code: 'key-reused', message: /another content.*\/model/ })
  t.equal(attempts, 2, 'one attempt each')
  t.equal(upstream.count(), 1)
})
