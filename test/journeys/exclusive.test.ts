// Exclusive groups: one execution at a time for each task, whatever is asked of it; the others are refused, or wait for their turn.
import t from 'tap'
import type { Answer } from '../helpers/client.ts'
import { fingerprintOf, replayed, stage } from '../helpers/stage.ts'
import { until, within } from '../helpers/until.ts'
import { json, latch, startUpstream, type TestUpstream } from '../helpers/upstream.ts'

function rules(more: string, exclusive = 'by: [path.task], whenBusy: wait'): string {
  return `
  - name: run
    match: { path: /tasks/:task/runs }
    fingerprint: { step: body.step }
    exclusive: { ${exclusive} }
    ${more}
  - name: stop
    match: { path: /tasks/:task/stop }
    fingerprint: { step: body.step }
    exclusive: { by: [path.task], group: run }
`
}

/** Each run ends when its door is opened; the others at once. */
async function doors(t: { teardown: (end: () => Promise<void>) => unknown }, ...steps: string[]) {
  const doors = new Map(steps.map((step) => [step, latch()]))
  const upstream = await startUpstream(async (request, response) => {
    const { step } = JSON.parse(request.body.toString()) as { step: string }
    await doors.get(step)?.opened
    json(response, 200, { step, executions: upstream.count() })
  })
  t.teardown(() => upstream.close())
  return { upstream, open: (step: string) => doors.get(step)?.open() }
}

function steps(upstream: TestUpstream): string[] {
  return upstream.received.map(({ body }) => (JSON.parse(body.toString()) as { step: string }).step)
}

t.test('refuse: another request for a busy task gets 409 and leaves no trace; whatever is no execution is answered', async (t) => {
  const { upstream, open } = await doors(t, 'a', 'x')
  const { ask } = await stage(t, { upstream, rules: rules('', 'by: [path.task]') })
  const run = (step: string, more: { as?: string; task?: string } = {}) =>
    ask(`/tasks/${more.task ?? '1'}/runs`, { body: { step }, ...(more.as === undefined ? {} : { as: more.as }) })
  const early = await run('early')
  const first = run('a')
  await within('the execution', upstream.arrived(2))
  const busy = await run('b')
  t.match(busy, { status: 409, headers: { 'oncegate-error': 'resource-busy', 'retry-after': '1', 'x-should-retry': 'true' } })
  t.match(busy.json(), { type: 'urn:oncegate:resource-busy', retry: 'same-key', retry_after: 1 })
  t.equal((await ask(`/status/${fingerprintOf(busy)}`, { method: 'GET' })).status, 404)
  t.equal((await run('a')).status, 425, 'the same request is a duplicate like any other')
  t.ok(replayed(await run('early')))
  t.equal((await run('early')).text, early.text)
  t.equal((await run('b', { as: 'somebody else' })).status, 200, 'owners do not wait for each other')
  t.equal((await run('b', { task: '2' })).status, 200, 'nor do tasks')
  t.equal((await ask('/tasks/1/stop', { body: { step: 'c' } })).status, 200, 'the group of another rule is its own, unless it is named')
  open('a')
  t.equal((await first).status, 200)
  t.equal((await run('b')).status, 200)
  t.same(steps(upstream), ['early', 'a', 'b', 'b', 'c', 'b'])
})

t.test('rules that name one group exclude each other', async (t) => {
  const { upstream, open } = await doors(t, 'a')
  const { ask } = await stage(t, { upstream, rules: rules('', 'by: [path.task], group: run') })
  const first = ask('/tasks/1/runs', { body: { step: 'a' } })
  await within('the execution', upstream.arrived(1))
  t.equal((await ask('/tasks/1/stop', { body: { step: 'a' } })).status, 409)
  open('a')
  await first
  t.equal((await ask('/tasks/1/stop', { body: { step: 'a' } })).status, 200)
})

t.test('what the group goes by is missing', async (t) => {
  const { upstream, ask } = await stage(t, { rules: rules('', 'by: [body.agent]') })
  const answer = await ask('/tasks/1/runs', { body: { step: 'a' } })
  t.match(answer, { status: 400, headers: { 'oncegate-error': 'field-missing' } })
  t.match(answer.json().detail, /body\.agent/)
  t.equal(upstream.count(), 0)
})

t.test('wait: it is pending until its turn, seen on the status page, and executed then', async (t) => {
  const { upstream, open } = await doors(t, 'a', 'b')
  const { ask } = await stage(t, { upstream, rules: rules('inFlight: { maxWait: 20s }') })
  const run = (step: string, headers: Record<string, string> = {}) => ask('/tasks/1/runs', { body: { step }, headers })
  const first = run('a')
  await within('the execution', upstream.arrived(1))
  const second = run('b')
  let duplicate!: Answer
  await until('a duplicate meets it', async () => (duplicate = await run('b')).status === 425)
  const fingerprint = fingerprintOf(duplicate)
  t.match(duplicate.json(), { type: 'urn:oncegate:in-flight', retry: 'same-key' })
  const status = (query = '') => ask(`/status/${fingerprint}${query}`, { method: 'GET' })
  t.match((await status()).json(), { status: 'pending', attempt: 1, rule: 'run', duplicates: 1 })
  t.equal((await ask(`/status/${fingerprint}/result`, { method: 'GET' })).status, 425)
  let told = ''
  const stream = ask(`/status/${fingerprint}`, {
    method: 'GET',
    headers: { accept: 'text/event-stream' },
    onData: (chunk) => (told += chunk.toString()),
  })
  const states = () => [...told.matchAll(/"status":"(\w+)"/g)].map(([, state]) => state)
  const settled = status('?wait=10')
  const held = run('b', { prefer: 'wait=10' })
  await until('the stream tells of it', () => states().length === 1)
  t.equal(upstream.count(), 1)
  open('a')
  t.equal((await first).status, 200)
  await within('its turn', upstream.arrived(2))
  await until('the stream tells of that', () => states().length === 2)
  open('b')
  t.match(await second, { status: 200, text: '{"step":"b","executions":2}' })
  t.notOk(replayed(await second))
  t.ok(replayed(await held))
  t.match((await settled).json(), { status: 'completed', attempt: 1 })
  await within('the end of the stream', stream)
  t.same(states(), ['pending', 'processing', 'completed'])
  t.same(steps(upstream), ['a', 'b'])
})

t.test('wait: after maxWait it is 409, and nothing is left of it', async (t) => {
  const { upstream, open } = await doors(t, 'a')
  const { ask } = await stage(t, { upstream, rules: rules('inFlight: { maxWait: 300ms }') })
  const run = (step: string, headers: Record<string, string> = {}) => ask('/tasks/1/runs', { body: { step }, headers })
  const first = run('a')
  await within('the execution', upstream.arrived(1))
  for (const prefer of ['handling=strict', 'wait=5', 'wait=0']) {
    const late = await run('b', { prefer })
    t.match(late, { status: 409, headers: { 'oncegate-error': 'resource-busy', 'x-should-retry': 'true' } })
    t.equal((await ask(`/status/${fingerprintOf(late)}`, { method: 'GET' })).status, 404)
  }
  open('a')
  t.equal((await first).status, 200)
  t.equal((await run('c')).status, 200, 'nobody stands in the line')
  t.equal((await run('b')).status, 200)
  t.same(steps(upstream), ['a', 'c', 'b'])
})

t.test('wait: a client that leaves gives up its place, and its duplicate waits on', async (t) => {
  const { upstream, open } = await doors(t, 'a')
  const { ask } = await stage(t, { upstream, rules: rules('inFlight: { maxWait: 10s, answer: wait }') })
  const run = (step: string, signal?: AbortSignal) => ask('/tasks/1/runs', { body: { step }, ...(signal && { signal }) })
  const first = run('a')
  await within('the execution', upstream.arrived(1))
  const leaving = new AbortController()
  const gone = t.rejects(run('b', leaving.signal))
  let other!: Answer
  const waiting = async (step: string) => {
    other = await ask('/tasks/1/runs', { body: { step }, headers: { prefer: 'wait=0' } })
    return other.status === 425
  }
  await until('it waits', () => waiting('b'))
  const fingerprint = fingerprintOf(other)
  const duplicate = run('b')
  await until('two have asked again', async () => (await ask(`/status/${fingerprint}`, { method: 'GET' })).json().duplicates >= 2)
  leaving.abort()
  await gone
  await until('the duplicate waits in its place', () => waiting('b'))
  t.equal(upstream.count(), 1)
  open('a')
  await first
  t.match(await duplicate, { status: 200, text: '{"step":"b","executions":2}' })
  t.equal(upstream.count(), 2)
})

t.test('wait: its owner can cancel it', async (t) => {
  const { upstream, open } = await doors(t, 'a')
  const { ask } = await stage(t, { upstream, rules: rules('inFlight: { maxWait: 10s }') })
  const first = ask('/tasks/1/runs', { body: { step: 'a' } })
  await within('the execution', upstream.arrived(1))
  const second = ask('/tasks/1/runs', { body: { step: 'b' } })
  let duplicate!: Answer
  await until('it waits', async () => (duplicate = await ask('/tasks/1/runs', { body: { step: 'b' } })).status === 425)
  await ask(`/status/${fingerprintOf(duplicate)}`, { method: 'DELETE' })
  t.equal((await within('its end', second)).status, 409)
  open('a')
  await first
  t.same(steps(upstream), ['a'])
})

t.test('respond-async: 202 at once while it is pending, and it is executed in its turn', async (t) => {
  const { upstream, open } = await doors(t, 'a')
  const { ask } = await stage(t, { upstream, rules: rules('async: true') })
  const first = ask('/tasks/1/runs', { body: { step: 'a' } })
  await within('the execution', upstream.arrived(1))
  const accepted = await ask('/tasks/1/runs', { body: { step: 'b' }, headers: { prefer: 'respond-async' } })
  t.match(accepted, { status: 202, headers: { 'preference-applied': 'respond-async' } })
  t.match(accepted.json(), { status: 'pending' })
  const url = String(accepted.headers.location)
  t.match((await ask(url, { method: 'GET' })).json(), { status: 'pending' })
  open('a')
  await first
  await until('it is done', async () => (await ask(url, { method: 'GET' })).json().status === 'completed')
  t.same(steps(upstream), ['a', 'b'])
})

t.test('a known failure frees the task at once; a broken answer keeps it for what is left of the lease', async (t) => {
  const upstream = await startUpstream((request, response) => {
    const { step } = JSON.parse(request.body.toString()) as { step: string }
    if (step === 'broken') response.destroy()
    else json(response, step === 'failing' ? 500 : 200, { step })
  })
  t.teardown(() => upstream.close())
  const { ask } = await stage(t, { upstream, rules: rules('lease: 1s', 'by: [path.task]') })
  const run = (step: string) => ask('/tasks/1/runs', { body: { step } })
  t.equal((await run('failing')).status, 500)
  t.equal((await run('broken')).status, 502)
  t.equal((await run('next')).status, 409)
  await until('the lease is over', async () => (await run('next')).status === 200)
  t.same(steps(upstream), ['failing', 'broken', 'next'])
})
