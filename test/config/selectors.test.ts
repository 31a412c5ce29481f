// A selector is read exactly, or refused with a reason.
import t from 'tap'
import { SelectorError, compileJsonPath, parseSelector } from '../../src/config/selectors.ts'

const READ: [string, object][] = [
  ['body', { source: 'body' }],
  ['body.user.id', { source: 'body', path: '$.user.id' }],
  ['body.items[*].sku', { source: 'body', path: '$.items[*].sku' }],
  ["body['a.b']", { source: 'body', path: "$['a.b']" }],
  ['body[0]', { source: 'body', path: '$[0]' }],
  ['body..x', { source: 'body', path: '$..x' }],
  ['body.messages[-1].content', { source: 'body', path: '$.messages[-1].content' }],
  ["body.x[?@.a == 'match(1)'].b", { source: 'body', path: "$.x[?@.a == 'match(1)'].b" }],
  ['body.match', { source: 'body', path: '$.match' }],
  ['header.X-Request-Id', { source: 'header', name: 'x-request-id' }],
  ['header.x.y', { source: 'header', name: 'x.y' }],
  ['query', { source: 'query' }],
  ['query.filter[status]', { source: 'query', name: 'filter[status]' }],
  ['path.taskId', { source: 'path', name: 'taskId' }],
  ['path.*', { source: 'path', name: '*' }],
  ['cookie.Sid', { source: 'cookie', name: 'Sid' }],
  ['jwt.sub', { source: 'jwt', path: '$.sub' }],
  ['jwt.org.id', { source: 'jwt', path: '$.org.id' }],
  ['method', { source: 'method' }],
  ['url.path', { source: 'urlPath' }],
  ['host', { source: 'host' }],
  ['ip', { source: 'ip' }],
]

for (const [text, expected] of READ) t.same(parseSelector(text), expected, text)

const REFUSED: [string, RegExp, RegExp?][] = [
  ['', /unknown selector source/],
  [' body', /unknown selector source/, /did you mean "body"/],
  ['Body.x', /unknown selector source "Body"/, /did you mean "body\.x"/],
  ['headers.x', /unknown selector source "headers"/, /did you mean "header\.x"/],
  ['$.user', /has no source/, /write body\.user/],
  ['url', /unknown selector/, /url\.path/],
  ['jwt', /names no claim/, /jwt\.sub/],
  ['__proto__', /unknown selector source/],
  ['constructor', /unknown selector source/],
  ['method.x', /unknown selector source "method"/],
  ['body.', /nothing stands after the dot/],
  ['body.a b', /not a valid JSONPath/],
  ['body.x[', /not a valid JSONPath/],
  ["body.x[?match(@.a, '(a+)+')]", /uses match\(\), which is not available/, /minutes/],
  ["body.x[?search(@.a, '(a+)+')]", /uses search\(\), which is not available/],
  ['header', /names no header/, /header\.<name>/],
  ['header.', /names no header/],
  ['header.a b', /character/],
  ['header.Connection', /can never be read/],
  ['header.Idempotency-Attempt', /can never be read/],
  ['query.', /names no query/],
  ['path', /names no parameter/],
  ['path.a-b', /not the name of a path parameter/],
  ['cookie.a;b', /character/],
]

for (const [text, message, hint] of REFUSED) {
  t.test(`${text === '' ? 'nothing' : text} is refused`, async (t) => {
    try {
      parseSelector(text)
      t.fail('it was read')
    } catch (error) {
      if (!(error instanceof SelectorError)) throw error
      t.match(error.message, message)
      if (hint !== undefined) t.match(error.hint, hint)
    }
  })
}

t.test('a path of a selector compiles and finds', async (t) => {
  const selector = parseSelector('body.items[*].sku')
  if (selector.source !== 'body' || selector.path === undefined) throw new Error('not a path')
  t.same(
    compileJsonPath(selector.path)
      .query({ items: [{ sku: 1 }, { sku: 2 }] })
      .values(),
    [1, 2],
  )
})
