// The gateway's own answers for browsers and SDKs, what the log tells, and how clients connect.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import https from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { behind, KEYED, key } from '../helpers/behind.ts'
import { type Answer, lines, send } from '../helpers/client.ts'
import { Conversation } from '../helpers/conversation.ts'
import { json } from '../helpers/upstream.ts'
import { until } from '../helpers/until.ts'

const PAGE = 'https://app.test'

t.test('pages of the configured origins may read refusals, replays and the status; others may not', async (t) => {
  const { gateway } = await behind(t, { top: `cors: { origins: [${PAGE}] }` })
  const ask = (origin: string, body: object = {}) => send(gateway.url, { headers: key('k', { origin }), body })
  const first = await ask(PAGE)
  t.notOk(first.headers['access-control-allow-origin'], 'the execution’s answer is the upstream’s own, with its own CORS')
  const status = `${gateway.url}/status/${String(first.headers['idempotency-fingerprint'])}`
  const read: Record<string, (origin: string) => Promise<Answer>> = {
    replay: (origin) => ask(origin),
    refusal: (origin) => ask(origin, { other: 1 }),
    status: (origin) => send(status, { method: 'GET', headers: { origin } }),
    result: (origin) => send(`${status}/result`, { method: 'GET', headers: { origin, authorization: 'Bearer a' } }),
    preflight: (origin) => send(status, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'GET' } }),
  }
  for (const [what, asked] of Object.entries(read)) {
    const allowed = await asked(PAGE)
    t.same(lines(allowed, 'access-control-allow-origin'), [PAGE], what)
    t.match(allowed.headers.vary, 'Origin', what)
    const exposed = String(allowed.headers['access-control-expose-headers'])
    for (const name of ['Idempotency-Fingerprint', 'Idempotency-Replayed', 'Oncegate-Error', 'Retry-After', 'Age']) t.match(exposed, name)
    const other = await asked('https://evil.test')
    t.same(lines(other, 'access-control-allow-origin'), [], `${what} of another origin`)
    t.match(other.headers.vary, 'Origin', `${what}: caches keep them apart`)
  }
})

t.test('without cors no CORS header is made', async (t) => {
  const { gateway } = await behind(t)
  for (let n = 0; n < 2; n++) {
    const answer = await send(gateway.url, { headers: key('k', { origin: PAGE }) })
    t.notOk(answer.rawHeaders.some((name) => /^(?:access-control-.*|vary)$/i.test(name)))
  }
})

t.test('a problem is problem+json, but plain JSON for who asks for that alone', async (t) => {
  const { gateway } = await behind(t)
  for (const [accept, type] of [
    [undefined, 'application/problem+json'],
    ['*/*', 'application/problem+json'],
    ['text/html', 'application/problem+json'],
    ['application/json', 'application/json'],
    ['Application/JSON; q=0.9, text/event-stream', 'application/json'],
    ['application/json, application/problem+json', 'application/problem+json'],
    ['application/vnd.api+json', 'application/problem+json'],
  ] as const) {
    const answer = await send(gateway.url, { headers: accept === undefined ? { authorization: 'a' } : { authorization: 'a', accept } })
    t.equal(answer.status, 400)
    t.equal(answer.headers['content-type'], type, `Accept: ${accept}`)
    t.equal(answer.headers['cache-control'], 'no-store')
    t.match(answer.json(), {
      type: 'urn:oncegate:key-missing',
      title: String,
      status: 400,
      detail: String,
      retry: String,
      message: String,
      error: { type: 'urn:oncegate:key-missing', code: 'key-missing', message: String },
    })
  }
})

t.test('the log has one line a request, with rule and outcome, and no secret of it', async (t) => {
  const secret = (n: number) => `s3cr3t${n}x`
  let n = 0
  const { gateway } = await behind(t, {
    rules: `
  - name: by-field
    match: { path: /by-field/:id }
    fingerprint: { object: body.id }
    onMissing: refuse
${KEYED}    maxBody: 10KiB
`,
    handler: (request, response) => {
      if (request.url.startsWith('/broken')) return void response.destroy()
      response.setHeader('X-Answer', secret(90))
      json(response, request.url.startsWith('/failed') ? 500 : 200, { secret: secret(91) })
    },
  })
  const headers = () => ({
    authorization: `Bearer ${secret(1)}`,
    cookie: `session=${secret(2)}`,
    'idempotency-key': secret(3),
    'x-api-key': secret(4),
    'content-type': `application/json; p=${secret(5)}`,
    referer: `http://x.test/?t=${secret(6)}`,
    prefer: secret(7),
    'x-forwarded-for': secret(8),
  })
  const asked: [string, string, object | string | Buffer | undefined][] = [
    ['POST', '/executed', { secret: secret(9) }],
    ['POST', '/executed', { secret: secret(9) }],
    ['POST', '/executed', { secret: secret(10) }],
    ['POST', '/failed', secret(11)],
    ['POST', '/failed', `{"${secret(12)}":1}`],
    ['POST', '/broken', '{}'],
    ['POST', '/broken', '{}'],
    ['POST', '/large', Buffer.alloc(20_000, secret(13))],
    ['POST', '/by-field/1', '{"id":'],
    ['POST', '/by-field/1', `{"id":1,"id":"${secret(14)}"}`],
    ['POST', '/by-field/1', { other: secret(15) }],
    ['GET', '/passed', undefined],
    ['GET', '/status/nothing', undefined],
    ['PROPFIND', '/odd', secret(16)],
  ]
  for (const [method, path, body] of asked) {
    const url = `${gateway.url}${path}?token=${secret(20)}&k=${secret(21)}`
    await send(url, { method, headers: headers(), ...(body === undefined ? {} : { body }) }).catch(() => {})
    n++
    await until(`the line of ${method} ${path}`, () => gateway.log.filter((line) => line.msg === 'request').length === n)
    const line = gateway.log.filter((one) => one.msg === 'request').at(-1)!
    t.match(line, { method, path, outcome: String, ms: Number }, `${method} ${path}`)
  }
  // A request is not always whole, or HTTP at all.
  for (const bytes of [
    `GET / HTTP/1.1\r\nHost: x\r\nBad ${secret(30)}\r\n\r\n`,
    `POST /x?q=${secret(31)} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: ${secret(32)}\r\n\r\n`,
    `${secret(33)}\r\n\r\n`,
    `GET http://user:${secret(34)}@other.test/x#${secret(35)} HTTP/1.1\r\nHost: ${secret(36)}\r\n\r\n`,
  ]) {
    const talk = await Conversation.open(gateway.port, bytes)
    await talk.answer()
    talk.close()
    n++
    await until('its line', () => gateway.log.filter((line) => line.msg === 'request').length === n)
  }
  t.same(
    gateway.log.filter((line) => line.msg === 'request').map((line) => line.outcome),
    [
      ['executed', 'replayed', 'key-reused', 'body-invalid', 'executed', 'upstream-broken', 'outcome-unknown', 'body-too-large'],
      ['body-invalid', 'body-invalid', 'field-missing', 'passed', 'status', 'passed'],
      ['request-invalid', 'request-invalid', 'request-invalid', 'passed'],
    ].flat(),
  )
  t.same(
    gateway.log.filter((line) => line.msg === 'request').map((line) => line.rule),
    [...Array.from({ length: 8 }, () => 'keyed'), ...Array.from({ length: 3 }, () => 'by-field'), ...Array.from({ length: 7 })],
  )
  const all = JSON.stringify(gateway.log)
  t.notMatch(all, 's3cr3t')
  t.match(gateway.log.filter((line) => line.outcome === 'executed')[0], {
    fingerprint: /^[A-Za-z0-9_-]{20,64}$/,
    status: 200,
    rule: 'keyed',
  })
})

t.test('a problem never repeats a value of the request', async (t) => {
  const { gateway } = await behind(t, {
    rules: `
  - name: by-field
    match: { path: /by-field }
    fingerprint: { object: body.id, key: { from: header.idempotency-key, optional: true } }
${KEYED}`,
  })
  const ask = (path: string, headers: Record<string, string | string[]>, body: string) =>
    send(`${gateway.url}${path}?q=s3cr3t`, { headers: { authorization: 's3cr3t', 'content-type': 'application/json', ...headers }, body })
  const answers = [
    await ask('/x', { 'idempotency-key': ['s3cr3t1', 's3cr3t2'] }, '{}'),
    await ask('/x', { 'idempotency-key': '"s3cr3t' }, '{}'),
    await ask('/x', { 'idempotency-key': 's3cr3t'.repeat(50) }, '{}'),
    await ask('/by-field', {}, '{"id": s3cr3t}'),
    await ask('/by-field', {}, '{"other": "s3cr3t"}'),
    await ask('/by-field', { 'content-type': 'text/s3cr3t' }, 's3cr3t'),
  ]
  await ask('/x', { 'idempotency-key': 'k' }, '{"a":"s3cr3t1","b":1}')
  answers.push(await ask('/x', { 'idempotency-key': 'k' }, '{"a":"s3cr3t2","b":1}'))
  for (const answer of answers) {
    t.ok(answer.status >= 400)
    t.notMatch(answer.text + answer.rawHeaders.join(' '), 's3cr3t', String(answer.headers['oncegate-error']))
  }
  t.same(answers.at(-1)!.json().differs, ['/a'])
})

t.test('the traffic port speaks TLS', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'oncegate-tls-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const [cert, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj', '/CN=localhost']
  execFileSync('openssl', ['req', '-x509', ...made, '-addext', 'subjectAltName=DNS:localhost', '-keyout', keyFile, '-out', cert], {
    stdio: 'ignore',
  })
  const { gateway, upstream } = await behind(t, { top: `tls: { cert: ${cert}, key: ${keyFile} }` })
  const ca = readFileSync(cert)
  const ask = (headers: Record<string, string>) =>
    new Promise<{ status: number; headers: Record<string, unknown>; text: string }>((resolve, reject) => {
      const request = https.request(
        { host: '127.0.0.1', servername: 'localhost', port: gateway.port, method: 'POST', path: '/x', ca, agent: false, headers },
        (response) => {
          let text = ''
          response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
          response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, text }))
        },
      )
      request.setTimeout(5000, () => request.destroy(new Error('no answer')))
      request.on('error', reject).end('{}')
    })
  const headers = { authorization: 'a', 'idempotency-key': 'k' }
  t.match(await ask(headers), { status: 200, text: '{"execution":1}' })
  t.match(await ask(headers), { status: 200, text: '{"execution":1}', headers: { 'idempotency-replayed': 'true' } })
  const offer = { ...headers, connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'x' }
  t.match(await ask(offer), { status: 200, headers: { 'idempotency-replayed': 'true' } }, 'an offer to upgrade is declined here too')
  t.equal(upstream.count(), 1)
})

t.test('the owner `ip` is the client’s address, and what trusted proxies say it is, nobody else', async (t) => {
  const rules = `
  - name: by-address
    match: { path: /* }
    owner: ip
    fingerprint: { object: body.id }
`
  const executions = async (setting: { top?: string }) => {
    const { gateway, upstream } = await behind(t, { rules, ...setting })
    for (const address of ['203.0.113.1', '203.0.113.2', '203.0.113.1', '198.51.100.7, 203.0.113.1']) {
      await send(gateway.url, { headers: { 'x-forwarded-for': address }, body: { id: 1 } })
    }
    t.equal(upstream.received[0]!.headers['x-forwarded-for'], '203.0.113.1', 'the header passes as it came')
    return upstream.count()
  }
  t.equal(await executions({}), 1, 'not believed by default')
  t.equal(await executions({ top: 'trustProxy: [192.0.2.1]' }), 1, 'not believed of others')
  t.equal(await executions({ top: 'trustProxy: [127.0.0.1/32]' }), 2, 'the last address that no trusted proxy wrote counts')
})
