// One refusal in every dialect: the same facts, and the text where each kind of SDK looks for it.
import t from 'tap'
import { problemResponse } from '../../src/http/problem-response.ts'
import { ERROR_DIALECTS, type ErrorDialect, PROBLEMS, problem } from '../../src/model/problems.ts'

const FINGERPRINT = 'f'.repeat(44)
const reused = problem('key-reused', 'The text.', { fingerprint: FINGERPRINT, retryAfterMs: 1200, members: { differs: ['/a'] } })

function written(dialect: ErrorDialect, which = reused, accept = 'application/json') {
  const { status, headers, body } = problemResponse(which, { statusPath: '/status', accept, dialect, requesterId: '7' })
  const lines = new Map(headers.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), headers[at + 1]!] as const] : [])))
  return { status, lines, text: body.toString(), json: JSON.parse(body.toString()) as Record<string, any> }
}

t.test('status, headers and facts are the same in each', async (t) => {
  const usual = written('problem')
  for (const dialect of ERROR_DIALECTS) {
    const { status, lines, json, text } = written(dialect)
    t.equal(status, 422)
    for (const [name, value] of usual.lines) if (name !== 'content-length') t.equal(lines.get(name), value, `${dialect}: ${name}`)
    t.equal(lines.get('content-length'), String(text.length))
    const facts = dialect === 'jsonrpc' ? json['error'].data : json
    const { title, retry, fingerprint, status_url, retry_after, retry_after_ms, differs } = usual.json
    t.match(facts, { title, status: 422, retry, fingerprint, status_url, retry_after, retry_after_ms, differs }, dialect)
    t.equal(json['error'].message, 'The text.', dialect)
  }
})

t.test('each has what its SDK reads', async (t) => {
  const common = { type: 'urn:oncegate:key-reused', detail: 'The text.', message: 'The text.' }
  t.match(written('problem').json, { ...common, error: { type: common.type, code: 'key-reused' } })
  t.match(written('openai').json, { ...common, error: { type: 'invalid_request_error', code: 'key-reused', param: null } })
  t.match(written('stripe').json, { ...common, error: { type: 'idempotency_error', code: 'key-reused' } })
  t.match(written('anthropic').json, { ...common, type: 'error', error: { type: 'invalid_request_error', code: 'key-reused' } })
  const aws = written('aws')
  t.match(aws.json, { ...common, __type: 'KeyReusedException' })
  t.equal(aws.lines.get('x-amzn-errortype'), 'KeyReusedException')
  t.match(written('jsonrpc').text, /^\{"jsonrpc":"2\.0","id":7,"error":\{"code":-32080,"message":"The text\.","data":\{/)
})

t.test('the type says what the body is', async (t) => {
  for (const dialect of ERROR_DIALECTS) {
    const type = written(dialect, reused, '*/*').lines.get('content-type')
    t.equal(type, dialect === 'jsonrpc' ? 'application/json' : 'application/problem+json', dialect)
  }
})

t.test('every problem has a type that the SDKs know, and no code with a meaning of its own in MCP or A2A', async (t) => {
  const known = {
    openai: /^(?:invalid_request|server)_error$/,
    stripe: /^(?:idempotency|invalid_request|api)_error$/,
    anthropic: /^(?:(?:invalid_request|authentication|not_found|rate_limit|timeout|overloaded|api)_error|request_too_large)$/,
  }
  for (const name of Object.keys(PROBLEMS) as (keyof typeof PROBLEMS)[]) {
    for (const dialect of ['openai', 'stripe', 'anthropic'] as const)
      t.match(written(dialect, problem(name, 'x')).json['error'].type, known[dialect], name)
    const { code } = written('jsonrpc', problem(name, 'x')).json['error']
    t.ok([-32_700, -32_600, -32_602, -32_603, -32_080].includes(code), `${name}: ${code}`)
    t.match(written('aws', problem(name, 'x')).lines.get('x-amzn-errortype'), /^(?:[A-Z][a-z]+)+Exception$/, name)
  }
})
