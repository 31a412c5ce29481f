// An answer for another requester: its names in the right places, every other byte as it was, whatever pieces it came in.
import fc from 'fast-check'
import t from 'tap'
import { bodyRewriter } from '../../../src/model/jsonrpc/body-rewriter.ts'
import type { Requester } from '../../../src/model/jsonrpc/requester.ts'

const JSON_TYPE = 'application/json; charset=utf-8'
const EVENTS = 'text/event-stream'
const NEW: Requester = { id: '"new"', progressToken: '77' }

/** In pieces of these lengths, over and over. */
function rewrite(
  text: string,
  { type = JSON_TYPE, to = NEW, pieces = [1 << 20] }: { type?: string; to?: Requester; pieces?: number[] },
): string {
  const rewriter = bodyRewriter(type, to)!
  const bytes = Buffer.from(text)
  const out: Buffer[] = []
  for (let at = 0, n = 0; at < bytes.length; at += pieces[n++ % pieces.length]!) {
    // A copy each, made useless afterwards: nothing may be kept of the caller's, but what came out of it.
    out.push(Buffer.from(rewriter.push(Buffer.from(bytes.subarray(at, at + pieces[n % pieces.length]!)))))
  }
  out.push(rewriter.end())
  return Buffer.concat(out).toString()
}

t.test('the id of an answer is replaced, whatever it is and wherever it stands', async (t) => {
  for (const id of ['1', '"a"', 'null', '12345678901234567890', '-1.50e+3', '"\\"id\\":1"', '"ключ"']) {
    for (const own of ['2', '"b"', 'null', '98765432109876543210', '1.0', '"ключ"']) {
      const to = { id: own, progressToken: undefined }
      for (const answer of [
        (name: string) => `{"jsonrpc":"2.0","id":${name},"result":{"n":1.0}}`,
        (name: string) => `{ "result" : {"id":${id}, "error": {"id": ${id}}}, "jsonrpc":"2.0" ,\r\n\t"id" : ${name} }\n`,
        (name: string) => `{"id":${name},"jsonrpc":"2.0","error":{"code":-1,"message":"id","data":{"id":${id}}}}`,
        (name: string) => `{"\\u0069d":${name},"extra":[{"id":${id}}],"result":[]}`,
        (name: string) => `[{"id":${name},"result":1},{"result":2,"id":${name}}]`,
      ]) {
        t.equal(rewrite(answer(id), { to }), answer(own))
      }
    }
  }
})

t.test('a request that the server makes keeps its id, and so does what is no JSON-RPC answer', async (t) => {
  for (const text of [
    '{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"_meta":{"progressToken":5},"result":{"id":1}}}',
    '{"method":"elicitation/create","params":{"id":1},"id":1}',
    '{"params":{"a":1},"id":1,"method":"x"}',
    '{"id":1,"name":"result"}',
    '{"a":{"id":1,"result":2}}',
    '[[{"id":1,"result":2}]]',
    '{"id":{"id":1},"result":2}',
    '{"id":[1],"result":2}',
    '"id"',
    '',
    '{"id":1',
    '{"result":1,"id":12',
    '{"result":1,"id":"1',
    'id: 1, "id": 2 ] } result',
    '{"text":"{\\"id\\":1,\\"result\\":2}"}',
  ]) {
    for (const pieces of [[1], [1 << 20]]) t.equal(rewrite(text, { pieces }), text)
  }
})

t.test('news of progress comes under the token of the requester', async (t) => {
  const news = (token: string) =>
    `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":5,"message":"progressToken","_meta":{"progressToken":5}}}`
  t.equal(rewrite(news('5'), {}), news('77'))
  t.equal(
    rewrite(`{"params":{"progress":1,"progressToken":"a"},"method":"notifications/progress"}`, {}),
    '{"params":{"progress":1,"progressToken":77},"method":"notifications/progress"}',
  )
  t.match(
    rewrite(news('5'), { to: { id: '5', progressToken: undefined } }),
    /"progressToken":"oncegate:[a-z-]+","progress"/,
    'not asked for: none of its own',
  )
})

t.test('a requester without an id leaves the ids alone', async (t) => {
  const text = '{"id":1,"result":{}}'
  t.equal(rewrite(text, { to: { id: undefined, progressToken: undefined } }), text)
})

t.test('an event has one message, however its lines are made', async (t) => {
  const events = (id: string, token: string) =>
    [
      '\ufeffdata: {"id":' + id + ',"result":1}\n\n',
      ': comment with "id":1\r\nevent: message\r\nid: 1\r\ndata:{"jsonrpc":"2.0",\r\ndata: "id":' +
        id +
        '\r\ndata:,"result":{"id":1}}\r\n\r\n',
      'data: {"method":"notifications/progress",\rdata: "params":{"progressToken":' + token + '\rdata: }}\r\r',
      'data\ndatax: {"id":1,"result":2}\n data: {"id":1,"result":2}\ndata: {"id":' + id + ',\nid: 9\nretry: 5\ndata: "error":{}}\n\n',
      'data: {"broken":"id\n\ndata: {"id":' + id + ',"result":3}\n\n',
      'data: [DONE]\n\nid: 1\n\ndata: {"id":' + id + ',"result":4}\n\n',
      'data: {"id":1,"method":"ping"}\n\ndata: {"id":1',
    ].join('')
  for (const pieces of [[1], [2], [3, 1], [7], [1 << 20]])
    t.equal(rewrite(events('1', '5'), { type: EVENTS, pieces }), events('"new"', '77'), `pieces of ${pieces.join()}`)
})

t.test('at the end of an event nothing of it is held back', async (t) => {
  const rewriter = bodyRewriter(EVENTS, NEW)!
  const event = 'data: {"id":1,"neither":2}\n\n'
  t.equal(rewriter.push(Buffer.from(event)).toString(), event)
  t.equal(
    rewriter.push(Buffer.from('data: {"id":1,"result":"the first hal')).toString(),
    'data: {"id":"new","result":"the first hal',
    'nor before, once it is known what it is',
  )
})

t.test('what waits is bounded', async (t) => {
  const long = `{"id":1,"extra":"${'x'.repeat(200_000)}","result":2}`
  const rewriter = bodyRewriter(JSON_TYPE, NEW)!
  let out = 0
  let waiting = 0
  for (let at = 0; at < long.length; at += 1000) {
    out += rewriter.push(Buffer.from(long.slice(at, at + 1000))).length
    waiting = Math.max(waiting, Math.min(long.length, at + 1000) - out)
  }
  t.ok(waiting < 70_000, `${waiting} bytes`)
  t.equal(out + rewriter.end().length, long.length)
})

t.test('only answers of types that hold messages are rewritten', async (t) => {
  for (const type of [
    'application/json',
    'Application/JSON;charset=utf-8',
    'text/event-stream',
    'application/a2a+json',
    'application/x-ndjson',
  ])
    t.ok(bodyRewriter(type, NEW), type)
  for (const type of [undefined, '', 'text/plain', 'application/octet-stream', 'application/vnd.amazon.eventstream'])
    t.notOk(bodyRewriter(type, NEW), String(type))
})

// What follows builds each text twice: with the names that it came with, and with those that it must go out with.
type Names = { id: string; token: string }
type Text = (names: Names) => string

const scalar = fc.oneof(
  fc.constantFrom(
    '0',
    '-1',
    '1e400',
    '0.10',
    '12345678901234567890',
    'null',
    'true',
    '"id"',
    '"\\"id\\":1,"',
    '"{"',
    '"]}"',
    '"\\\\"',
    '""',
    '"result"',
  ),
  fc.string({ unit: 'grapheme' }).map((text) => JSON.stringify(text)),
)
const blank = fc.constantFrom('', ' ', '\t', '  ')
const name = fc.constantFrom('"id"', '"result"', '"method"', '"params"', '"progressToken"', '"_meta"', '"x"', '"\\u0069d"')
const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    scalar,
    fc
      .array(fc.tuple(name, blank, tie('value')), { maxLength: 4 })
      .map((members) => `{${members.map(([key, gap, inner]) => `${key}${gap}:${gap}${inner}`).join(',')}}`),
    fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(' , ')}]`),
  ),
}))

const answer: fc.Arbitrary<Text> = fc
  .tuple(value, fc.constantFrom('result', 'error'), blank, fc.boolean(), fc.boolean())
  .map(([result, kind, gap, first, extra]) => ({ id }) => {
    const members = [`"${kind}"${gap}:${result}`]
    members.splice(first ? 0 : 1, 0, `"id"${gap}:${gap}${id}${gap}`)
    if (extra) members.unshift('"jsonrpc":"2.0"')
    return `{${gap}${members.join(`,${gap}`)}}`
  })
const news: fc.Arbitrary<Text> = fc.tuple(value, fc.boolean(), blank).map(([more, first, gap]) => ({ token }) => {
  const params = [`"progressToken"${gap}:${token}${gap}`, `"more":${more}`]
  return `{"method":"notifications/progress","params":{${(first ? params : params.toReversed()).join(',')}}}`
})
const asked: fc.Arbitrary<Text> = fc.tuple(value, scalar).map(
  ([more, id]) =>
    () =>
      `{"id":${id},"method":"sampling/createMessage","params":{"more":${more}}}`,
)
const names: fc.Arbitrary<Names> = fc.record({ id: scalar, token: scalar })
const pieces = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 8 })

t.test('any messages, in any pieces', async () => {
  const message = fc.oneof(answer, news, asked)
  const body = fc.tuple(fc.array(message, { maxLength: 4 }), fc.boolean()).map(([messages, list]): Text => (with_) => {
    const texts = messages.map((text) => text(with_))
    return list ? `[${texts.join(' ,\n')}]` : texts.join('\n')
  })
  fc.assert(
    fc.property(body, names, names, pieces, (text, old, own, lengths) => {
      const to = { id: own.id, progressToken: own.token }
      return rewrite(text(old), { to, pieces: lengths }) === text(own)
    }),
    { numRuns: 300 },
  )
})

t.test('any events, in any pieces', async () => {
  const end = fc.constantFrom('\n', '\r\n', '\r')
  const event = fc
    .tuple(fc.oneof(answer, news, asked), end, fc.constantFrom('data:', 'data: '), fc.constantFrom('', 'id: "id"', ': id', 'event: data'))
    .map(
      ([message, eol, field, before]): Text =>
        (with_) =>
          // Over several lines where objects follow each other.
          `${before === '' ? '' : before + eol}${field}${message(with_).replaceAll('},{', `},${eol}${field}{`)}${eol}${eol}`,
    )
  fc.assert(
    fc.property(fc.array(event, { maxLength: 4 }), names, names, pieces, (events, old, own, lengths) => {
      const text = (with_: Names) => events.map((one) => one(with_)).join('')
      const to = { id: own.id, progressToken: own.token }
      return rewrite(text(old), { type: EVENTS, to, pieces: lengths }) === text(own)
    }),
    { numRuns: 300 },
  )
})
