import t from 'tap'
import { parseTarget } from '../../src/model/target.ts'

t.test('an origin-form target is left as it came', async (t) => {
  t.same(parseTarget('/a%2Fb/../c?x=1?y'), { pathAndQuery: '/a%2Fb/../c?x=1?y', path: '/a%2Fb/../c', query: 'x=1?y' })
  t.same(parseTarget('//evil.test/x'), { pathAndQuery: '//evil.test/x', path: '//evil.test/x', query: undefined })
  t.same(parseTarget('/a?'), { pathAndQuery: '/a?', path: '/a', query: '' }, 'an empty query is not an absent one')
})

t.test('an absolute-form target loses its authority: a request cannot choose the upstream', async (t) => {
  t.equal(parseTarget('http://evil.test/x?y=1').pathAndQuery, '/x?y=1')
  t.equal(parseTarget('https://user:pass@evil.test:8443/x').pathAndQuery, '/x')
  t.equal(parseTarget('http://evil.test').pathAndQuery, '/')
  t.equal(parseTarget('http://evil.test?x=1').pathAndQuery, '/?x=1')
})

t.test('whatever comes, what goes out begins with a slash and has no fragment', async (t) => {
  for (const raw of ['*', '', 'evil.test/x', '?x', '/a#b', 'http://evil.test#/x']) {
    const { pathAndQuery } = parseTarget(raw)
    t.match(pathAndQuery, /^\/[^#]*$/, raw)
  }
})
