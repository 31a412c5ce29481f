import t from 'tap'
import { fingerprint } from './requests.ts'

const whole = { fingerprint: { q: 'query' } }
const of = (url: string) => fingerprint(whole, { url })

t.test('the order of different names does not matter, that of equal ones does', async (t) => {
  t.equal(of('/?a=1&b=2'), of('/?b=2&a=1'))
  t.equal(of('/?r=1&x=0&r=2'), of('/?x=0&r=1&r=2'))
  t.not(of('/?r=1&r=2'), of('/?r=2&r=1'))
})

t.test('repeated, joined and bracketed parameters are three queries', async (t) => {
  t.equal(new Set(['/?r=a&r=b', '/?r=a,b', '/?r[]=a&r[]=b'].map(of)).size, 3)
  t.equal(of('/?r=a,b'), of('/?r=a%2Cb'))
  t.equal(of('/?r[]=a'), of('/?r%5B%5D=a'))
})

t.test('pairs compare decoded: + and %20 are a space, %2B is a plus', async (t) => {
  t.equal(of('/?q=a+b'), of('/?q=a%20b'))
  t.not(of('/?q=a+b'), of('/?q=a%2Bb'))
  t.equal(of('/?q=%e6%bc%a2'), of('/?q=%E6%BC%A2'))
  t.not(of('/?a%3Db=c'), of('/?a=b%3Dc'))
  t.not(of('/?a=1%26b=2'), of('/?a=1&b=2'))
})

t.test('absent and empty differ; a name without = is an empty one; empty pairs do not count', async (t) => {
  t.not(of('/?a='), of('/'))
  t.equal(of('/?a'), of('/?a='))
  t.equal(of('/?'), of('/'))
  t.equal(of('/?&a=1&&'), of('/?a=1'))
  const optional = { fingerprint: { a: { from: 'query.a', optional: true } } }
  t.not(fingerprint(optional, { url: '/?a=' }), fingerprint(optional, { url: '/?b=' }))
})

t.test('broken escapes never look like something valid', async (t) => {
  t.equal(
    new Set(['/?q=%ff', '/?q=%fe', '/?q=\ufffd', '/?q=%25ff', '/?q=%zz', '/?q=%', '/?q=%25', '/?q=%E9', '/?q=%C3%A9'].map(of)).size,
    9,
  )
  t.equal(of('/?q=\u00c3\u00a9'), of('/?q=%C3%A9'), 'raw UTF-8 bytes, as Node hands them over')
  t.not(of('/?q=\u00e9'), of('/?q=%C3%A9'))
  t.not(of('/?%ff=1'), of('/?%fe=1'))
})

t.test('query.<name> takes every value of that name, in order', async (t) => {
  const named = { fingerprint: { r: 'query.r' } }
  t.not(fingerprint(named, { url: '/?r=1&r=2' }), fingerprint(named, { url: '/?r=2&r=1' }))
  t.not(fingerprint(named, { url: '/?r=1&r=2' }), fingerprint(named, { url: '/?r=1' }))
  t.equal(fingerprint(named, { url: '/?r=1&x=2' }), fingerprint(named, { url: '/?x=3&%72=1' }))
  t.equal(fingerprint({ fingerprint: { r: 'query.__proto__' } }, { url: '/?__proto__=1' }).length, 44)
})
