import t from 'tap'
import { problemResponse } from '../../src/http/problem-response.ts'
import { problem } from '../../src/model/problems.ts'

const FINGERPRINT = 'f'.repeat(44)
const inFlight = problem('in-flight', 'still running', { fingerprint: FINGERPRINT, retryAfterMs: 1200 })

function header(headers: string[], name: string): string | undefined {
  const at = headers.findIndex((text, i) => i % 2 === 0 && text.toLowerCase() === name)
  return at < 0 ? undefined : headers[at + 1]
}

t.test('a problem says what to do in the document, and in the headers that SDKs read', async (t) => {
  const { status, headers, body } = problemResponse(inFlight, { statusPath: '/status', accept: undefined })
  t.equal(status, 425)
  t.match(JSON.parse(body.toString()), {
    type: 'urn:oncegate:in-flight',
    title: String,
    status: 425,
    detail: 'still running',
    retry: 'same-key',
    fingerprint: FINGERPRINT,
    status_url: `/status/${FINGERPRINT}`,
    retry_after: 2,
    retry_after_ms: 1200,
    message: 'still running',
    error: { type: 'urn:oncegate:in-flight', code: 'in-flight', message: 'still running' },
  })
  t.equal(header(headers, 'retry-after'), '2', 'whole seconds, rounded up')
  t.equal(header(headers, 'retry-after-ms'), '1200')
  t.equal(header(headers, 'x-should-retry'), 'true')
  t.equal(header(headers, 'stripe-should-retry'), 'true')
  t.equal(header(headers, 'oncegate-error'), 'in-flight')
  t.equal(header(headers, 'content-length'), String(body.length))
})

t.test('what a retry cannot mend tells SDKs not to try', async (t) => {
  const { headers } = problemResponse(problem('key-reused', 'x'), { statusPath: '/status', accept: undefined })
  t.equal(header(headers, 'x-should-retry'), 'false')
  t.equal(header(headers, 'retry-after'), undefined)
})

t.test('the type is problem+json, unless the client names plain JSON and not the other', async (t) => {
  const type = (accept: string | undefined) => header(problemResponse(inFlight, { statusPath: '/status', accept }).headers, 'content-type')
  t.equal(type(undefined), 'application/problem+json')
  t.equal(type('*/*'), 'application/problem+json')
  t.equal(type('application/json'), 'application/json')
  t.equal(type('application/json, application/problem+json'), 'application/problem+json')
})

t.test('Retry-After is at least one second', async (t) => {
  const { headers } = problemResponse(problem('in-flight', 'x', { retryAfterMs: 1 }), { statusPath: '/status', accept: undefined })
  t.equal(header(headers, 'retry-after'), '1')
})
