// onUnknown: ask. Of an execution that nobody knows the outcome of, the upstream itself is asked: once, and never more often than the rule says.
import type http from 'node:http'
import t, { type Test } from 'tap'
import type { Answer } from '../helpers/client.ts'
import { fingerprintOf, replayed, stage, type Stage } from '../helpers/stage.ts'
import { until, within } from '../helpers/until.ts'
import { json, latch, type Received, type TestUpstream } from '../helpers/upstream.ts'

const rules = (more = '', ask = ''): string => `
  - name: run
    match: { path: /tasks/:taskId }
    fingerprint: { section: body.section }
    onUnknown:
      ask:
        path: '/tasks/{path.taskId}/runs/{fingerprint}?section={body.section}&n={attempt}'
        executed: [200, 201]
        notExecuted: [404]
        timeout: 1s
        backoff: 60s
${ask}
${more}
`

type Reply = (request: Received, response: http.ServerResponse) => void | Promise<void>

/** Runs break off as long as `broken`; questions are answered by `reply`. */
class Backend {
  upstream!: TestUpstream
  broken = true
  reply: Reply = (_request, response) => json(response, 404, {})

  readonly handle = (request: Received, response: http.ServerResponse): void | Promise<void> => {
    if (request.method === 'GET') return this.reply(request, response)
    if (this.broken) response.destroy()
    else json(response, 200, { attempt: request.headers['idempotency-attempt'] })
  }

  get runs(): Received[] {
    return this.upstream.received.filter(({ method }) => method === 'POST')
  }

  get questions(): Received[] {
    return this.upstream.received.filter(({ method }) => method === 'GET')
  }
}

async function broken(
  t: Test,
  options: { rules?: string; section?: string } = {},
): Promise<Stage & { backend: Backend; again: () => Promise<Answer> }> {
  const backend = new Backend()
  const staged = await stage(t, { rules: options.rules ?? rules(), handler: backend.handle })
  backend.upstream = staged.upstream
  const again = (): Promise<Answer> => staged.ask('/tasks/7', { body: { section: options.section ?? '1/2 ü' }, key: 'mine' })
  t.match(await again(), { status: 502, headers: { 'oncegate-error': 'upstream-broken', 'x-should-retry': 'true', 'retry-after': '1' } })
  return { ...staged, backend, again }
}

t.test('it happened: the answer is the result for everybody who asks, and nothing runs again', async (t) => {
  const { backend, again, gateway } = await broken(t)
  const door = latch()
  backend.reply = async (_request, response) => {
    await door.opened
    json(response, 201, { text: 'done' })
  }
  const asking = Array.from({ length: 20 }, again)
  await until('the question', () => backend.questions.length > 0)
  door.open()
  for (const answer of await Promise.all(asking)) {
    t.match(answer, { status: 201, text: '{"text":"done"}' })
    t.ok(replayed(answer))
  }
  t.match(await again(), { status: 201, text: '{"text":"done"}' })
  t.equal(backend.runs.length, 1)
  t.equal(backend.questions.length, 1, 'asked once for all')
  const [run] = backend.runs
  const [question] = backend.questions
  const fingerprint = String(run?.headers['idempotency-fingerprint'])
  t.equal(question?.url, `/tasks/7/runs/${fingerprint}?section=1%2F2%20%C3%BC&n=1`)
  for (const name of ['fingerprint', 'execution', 'attempt', 'key'].map((name) => `idempotency-${name}`))
    t.equal(question?.headers[name], run?.headers[name], `the ${name} of the execution`)
  t.equal(question?.headers.authorization, 'Bearer a')
  t.notOk(question?.headers['content-type'], 'nothing of the body')
  t.equal(question?.body.length, 0)
  t.notOk(JSON.stringify(gateway.log).includes('1/2'), 'no value of the request is logged')
})

t.test('it has not happened: exactly one further attempt, whatever number comes at once', async (t) => {
  const { backend, again } = await broken(t)
  backend.broken = false
  const answers = await Promise.all(Array.from({ length: 20 }, again))
  // Whoever did not win meets the new attempt in flight, or its result.
  for (const { status } of answers) t.ok(status === 200 || status === 425, String(status))
  t.ok(answers.some(({ status }) => status === 200))
  t.match(await again(), { status: 200, text: '{"attempt":"2"}' })
  t.same(
    backend.runs.map(({ headers }) => headers['idempotency-attempt']),
    ['1', '2'],
  )
  t.equal(backend.questions.length, 1)
})

for (const [how, reply] of Object.entries<Reply>({
  'another status': (_request, response) => json(response, 202, { running: true }),
  'a broken connection': (_request, response) => void response.destroy(),
  garbage: (_request, response) => void response.socket?.end('not HTTP at all\r\n\r\n'),
  'an answer that breaks off': (_request, response) =>
    void response.writeHead(200, { 'Content-Length': 10 }).write('abc', () => response.destroy()),
  'no answer in time': () => {},
  'an answer without an end': (_request, response) => {
    response.writeHead(200)
    const timer = setInterval(() => response.write('x'), 50)
    response.on('close', () => clearInterval(timer))
  },
})) {
  t.test(`unclear (${how}): 409, not executed, and not asked again before its time`, async (t) => {
    const { backend, again } = await broken(t)
    backend.reply = reply
    const began = performance.now()
    const left: number[] = []
    for (let n = 0; n < 3; n++) {
      const answer = await again()
      left.push(Number(answer.headers['retry-after-ms']))
      t.match(answer, { status: 409, headers: { 'oncegate-error': 'outcome-unknown', 'x-should-retry': 'true' } })
      t.match(answer.json(), { retry: 'same-key' })
      const after = Number(answer.headers['retry-after'])
      t.ok(after > 50 && after <= 60, `asked again after ${after} s`)
    }
    t.ok(performance.now() - began < 3000, 'bounded')
    t.ok(left[2]! < left[0]!, `what is left of the pause is told: ${left.join(', ')} ms`)
    t.equal(backend.questions.length, 1)
    t.equal(backend.runs.length, 1)
  })
}

t.test('unclear, then clear: asked again after a pause that doubles', async (t) => {
  const { backend, again } = await broken(t, { rules: rules().replace('backoff: 60s', 'backoff: 100ms') })
  const at: number[] = []
  backend.reply = (_request, response) => {
    at.push(performance.now())
    json(response, at.length < 4 ? 503 : 200, { n: at.length })
  }
  await until('an answer', async () => (await again()).status === 200)
  t.equal(at.length, 4)
  const pauses = at.slice(1).map((time, n) => time - at[n]!)
  for (const [n, least] of [100, 200, 400].entries()) t.ok(pauses[n]! >= least - 5, `pause ${n}: ${pauses[n]} ms`)
  t.equal(backend.runs.length, 1)
})

t.test('an answer over maxResult: known to have happened, and not kept', async (t) => {
  const { backend, again } = await broken(t, { rules: rules('    maxResult: 100B') })
  backend.reply = (_request, response) => void response.end('x'.repeat(5_000_000))
  for (let n = 0; n < 2; n++) {
    t.match(await again(), { status: 409, headers: { 'oncegate-error': 'result-not-stored' } })
  }
  t.equal(backend.runs.length, 1)
  t.equal(backend.questions.length, 1)
})

t.test('an answer of some megabytes is replayed whole, with its headers', async (t) => {
  const { backend, again } = await broken(t)
  const body = Buffer.alloc(3_000_000, 'oncegate ')
  backend.reply = (_request, response) => void response.writeHead(200, { 'X-Run': 'r1', 'Set-Cookie': 'a=b' }).end(body)
  for (let n = 0; n < 2; n++) {
    const answer = await again()
    t.equal(answer.status, 200)
    t.ok(answer.body.equals(body))
    t.equal(answer.headers['x-run'], 'r1')
    t.notOk(answer.headers['set-cookie'])
  }
})

t.test('a duplicate that waits is answered by what the upstream says', async (t) => {
  const { backend, ask } = await broken(t, { rules: rules('    inFlight: { answer: wait }') })
  backend.broken = false
  const door = latch()
  backend.reply = async (_request, response) => {
    await door.opened
    json(response, 404, {})
  }
  const all = Array.from({ length: 5 }, () => ask('/tasks/7', { body: { section: '1/2 ü' }, key: 'mine' }))
  await until('the question', () => backend.questions.length > 0)
  door.open()
  for (const answer of await Promise.all(all)) t.match(answer, { status: 200, text: '{"attempt":"2"}' })
  t.equal(backend.runs.length, 2)
})

t.test('a request without a value for a variable cannot ask, nor one whose value would lead elsewhere', async (t) => {
  for (const section of ['..', '', ['a', 'b'], null]) {
    const backend = new Backend()
    const { ask, upstream } = await stage(t, {
      rules: rules().replace(/path: '.*'/, "path: '/runs/{body.section}/{fingerprint}'"),
      handler: backend.handle,
    })
    backend.upstream = upstream
    const again = () => ask('/tasks/7', { body: { section } })
    t.equal((await again()).status, 502)
    t.match(await again(), { status: 409, headers: { 'oncegate-error': 'outcome-unknown' } })
    t.equal(backend.questions.length, 0, JSON.stringify(section))
    t.equal(backend.runs.length, 1)
  }
})

t.test('the status page tells what the upstream said', async (t) => {
  const { backend, again, ask } = await broken(t)
  backend.reply = (_request, response) => json(response, 200, {})
  const fingerprint = fingerprintOf(await again())
  const page = await ask(`/status/${fingerprint}`, { method: 'GET' })
  t.match(page.json(), { status: 'completed', attempt: 1, http_status: 200 })
})

t.test('the upstream is never asked where the rule does not say so, nor about a known outcome', async (t) => {
  const backend = new Backend()
  backend.broken = false
  const { ask, upstream } = await stage(t, { rules: rules(), handler: backend.handle })
  backend.upstream = upstream
  for (let n = 0; n < 3; n++) t.equal((await ask('/tasks/7', { body: { section: 's' } })).status, 200)
  t.equal(backend.questions.length, 0)
  t.equal(backend.runs.length, 1)
})

t.test('a shutdown gives up a question, and leaves the record unknown', async (t) => {
  const backend = new Backend()
  backend.reply = () => {}
  const { ask, upstream, gateway } = await stage(t, {
    rules: rules().replace('timeout: 1s', 'timeout: 60s'),
    top: 'shutdownGrace: 100ms',
    handler: backend.handle,
  })
  backend.upstream = upstream
  t.equal((await ask('/tasks/7', { body: { section: 's' } })).status, 502)
  const held = ask('/tasks/7', { body: { section: 's' } })
  await until('the question', () => backend.questions.length > 0)
  const closing = gateway.close()
  t.equal((await within('an answer', held)).status, 409)
  await within('the end', closing)
  t.equal(backend.runs.length, 1)
})
