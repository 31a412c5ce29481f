// `oncegate explain --raw FILE`: a request as it stands on the wire, or as it was written by hand.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { explain, type ExplainOptions } from '../../src/cli/explain.ts'
import type { Explanation } from '../../src/fingerprint/explain.ts'

const RULES = `upstream: http://a
secret: a secret for tests
rules:
  - name: order
    match: { path: /orders }
    owner: [header.x-user, ip]
    fingerprint: { cart: body.cart, host: host, q: query }
`

interface Run {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Runs the command over a request with these bytes. */
function runner(t: Test): (request: string | Buffer, options?: Partial<ExplainOptions>) => Promise<Run> {
  const folder = t.testdir({ 'gate.yaml': RULES })
  return async (request, options = {}) => {
    const raw = join(folder, 'request')
    writeFileSync(raw, request)
    let [out, err] = ['', '']
    const given = { config: join(folder, 'gate.yaml'), raw, header: [], ip: '127.0.0.1', json: true, ...options }
    const surroundings = { env: {}, out: { write: (text: string) => (out += text) }, err: { write: (text: string) => (err += text) } }
    return { code: await explain(undefined, given, surroundings), out, err }
  }
}

const explained = ({ code, out, err }: Run): Explanation => {
  if (code !== 0) throw new Error(err)
  return JSON.parse(out) as Explanation
}

const message = (...lines: string[]): string => lines.join('\r\n')

t.test('one request in every framing has one fingerprint', async (t) => {
  const run = runner(t)
  const of = async (request: string | Buffer) => explained(await run(request))
  const body = '{"cart":"é"}'
  const head = ['Host: shop.test', 'X-User: u', 'Content-Type: application/json']
  const first = await of(message('POST /orders?a=1 HTTP/1.1', ...head, `Content-Length: ${Buffer.byteLength(body)}`, '', body))
  t.match(first, { outcome: 'guarded', owner: { source: 'header.x-user' } })
  t.same(first.parts.find(({ name }) => name === 'host')?.tried[0]?.raw, ['shop.test'])
  const others = {
    chunked: message('POST /orders?a=1 HTTP/1.1', ...head, 'Transfer-Encoding: chunked', '', '5;x=y', '{"car', '8', 't":"é"}', '0', '', ''),
    'with more white space behind it': message(
      'POST /orders?a=1 HTTP/1.1',
      ...head,
      `content-length:  ${Buffer.byteLength(body)}\t`,
      '',
      `${body}\n\n`,
    ),
    'by hand: no version, no length, lines that end in LF': ['POST /orders?a=1', ...head, '', body, ''].join('\n'),
    'an absolute target, empty lines before it': message('', 'POST http://other.test/orders?a=1 HTTP/1.1', ...head, '', body),
  }
  for (const [name, request] of Object.entries(others)) t.equal((await of(request)).fingerprint, first.fingerprint, name)
  t.not((await of(message('POST /orders?a=2 HTTP/1.1', ...head, '', body))).fingerprint, first.fingerprint)
})

t.test('a body counts byte for byte, but for one line end where no length is given', async (t) => {
  const run = runner(t)
  const cart = async (request: string) => explained(await run(request)).parts.find(({ name }) => name === 'cart')?.tried[0]?.raw
  const head = ['POST /orders HTTP/1.1', 'Content-Type: application/x-www-form-urlencoded']
  t.same(await cart(message(...head, '', 'cart=1\n')), ['1'])
  t.same(await cart(message(...head, '', 'cart=1\r\n\r\n')), ['1\r\n'])
  t.same(await cart(message(...head, 'Content-Length: 7', '', 'cart=1\n')), ['1\n'])
  t.same(explained(await run(message('GET /orders HTTP/1.1', 'X-User: u'))).outcome, 'unmatched')
})

t.test('what is no request: exit 2, and where', async (t) => {
  const run = runner(t)
  const bad: [request: string, err: RegExp][] = [
    ['', /line 1 of the request, "", is no request line: write like 'POST/],
    ['POST /orders HTTP/2', /line 1 .*is no request line/],
    ['POST  /orders HTTP/1.1', /line 1 .*is no request line/],
    ['post /orders HTTP/1.1', /"post" is no method: methods are written in capitals/],
    ['POST orders HTTP/1.1', /"orders" is neither a URL nor a path/],
    [
      message('POST /orders HTTP/1.1', 'X-User: u', 'no header', '', ''),
      /line 3 of the request, "no header", is no header: write 'Name: value'/,
    ],
    [message('POST /orders HTTP/1.1', 'X-User : u', '', ''), /line 2 .*is no header/],
    [message('POST /orders HTTP/1.1', 'X-User: u', ' more', '', ''), /line 3 .*continues the line before it/],
    [message('POST /orders HTTP/1.1', 'Content-Length: 9', '', '{}'), /Content-Length is 9, but only 2 bytes follow the headers/],
    [message('POST /orders HTTP/1.1', 'Content-Length: 1', '', '{}'), /Content-Length is 1, but 2 bytes follow/],
    [message('POST /orders HTTP/1.1', 'Content-Length: x', '', '{}'), /Content-Length: x is no length/],
    [message('POST /orders HTTP/1.1', 'Content-Length: 2', 'Content-Length: 3', '', '{}'), /Content-Length: 2, 3 is no length/],
    [
      message('POST /orders HTTP/1.1', 'Content-Length: 2', 'Transfer-Encoding: chunked', '', '{}'),
      /has both Content-Length and Transfer-Encoding/,
    ],
    [message('POST /orders HTTP/1.1', 'Transfer-Encoding: gzip', '', '{}'), /only "chunked" is read/],
    [message('POST /orders HTTP/1.1', 'Transfer-Encoding: chunked', '', '{}'), /no size where chunk 1 should begin/],
    [message('POST /orders HTTP/1.1', 'Transfer-Encoding: chunked', '', '2', '{}', '9', 'x'), /chunk 2 of the body is not 9 bytes long/],
  ]
  for (const [request, err] of bad) t.match(await run(request), { code: 2, out: '', err }, JSON.stringify(request))
  t.match(await run('', { raw: '/does/not/exist' }), { code: 2, err: /the request cannot be read/ })
})

t.test('flags that a file leaves no room for: exit 2', async (t) => {
  const run = runner(t)
  t.match(await run('', { header: ['A: b'] }), { code: 2, err: /-X, -H and -d belong to a URL/ })
  t.match(await run('', { against: 'a' }), { code: 2, err: /go together/ })
  t.match(await run('', { against: 'a', requests: 'b' }), { code: 2, err: /exclude each other/ })
})
