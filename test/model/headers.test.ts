import t from 'tap'
import { headerValue, listHeader, passedOn } from '../../src/model/headers.ts'

t.test('end-to-end lines pass in their order and number', async (t) => {
  const lines = ['X-B', '1', 'x-a', '2', 'X-B', '3', 'Cookie', 'a=b']
  t.same(passedOn(lines), lines)
})

t.test('hop-by-hop headers and those that Connection names do not pass (RFC 9110 7.6.1)', async (t) => {
  const lines = [
    'Connection',
    'keep-alive, X-Hop',
    'x-hop',
    '1',
    'Keep-Alive',
    'timeout=5',
    'TE',
    'trailers',
    'Trailer',
    'X-Sum',
    'Transfer-Encoding',
    'chunked',
    'Upgrade',
    'h2c',
    'Proxy-Connection',
    'close',
    'X-End',
    '1',
  ]
  t.same(passedOn(lines), ['X-End', '1'])
})

t.test("the gateway's own headers are not believed from anybody else", async (t) => {
  t.same(
    passedOn([
      'Idempotency-Replayed',
      'true',
      'idempotency-fingerprint',
      'x',
      'Oncegate-Error',
      'x',
      'Idempotency-Attempt',
      '9',
      'Idempotency-Key',
      'k',
    ]),
    ['Idempotency-Key', 'k'],
  )
})

t.test('a single value is the first line, a list joins them all', async (t) => {
  const lines = ['Prefer', 'a', 'x', 'y', 'prefer', 'b']
  t.equal(headerValue(lines, 'prefer'), 'a')
  t.equal(listHeader(lines, 'prefer'), 'a, b')
  t.equal(headerValue(lines, 'z'), undefined)
  t.equal(listHeader(lines, 'z'), undefined)
})
