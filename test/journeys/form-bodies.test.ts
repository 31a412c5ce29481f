// A form is what its fields say: decoded, without the order of different names, with that of equal ones.
import t from 'tap'
import { replayed, stage } from '../helpers/stage.ts'

const FORMS = `
  - name: whole
    match: { path: /whole }
    fingerprint: { form: body }
  - name: keyed
    match: { path: /keyed }
    fingerprint: { key: header.idempotency-key }
`
const URLENCODED = { 'content-type': 'application/x-www-form-urlencoded' }

t.test('spellings of one form share a record, other forms do not', async (t) => {
  const { upstream, ask } = await stage(t, { rules: FORMS })
  const send = (body: string) => ask('/whole', { headers: URLENCODED, body })
  const groups = [
    ['a=1&b=2', 'b=2&a=1', '%61=1&b=%32', 'a=1&&b=2&'],
    ['a=1&a=2'],
    ['a=2&a=1'],
    ['a=1,2', 'a=1%2C2'],
    ['q=x+y', 'q=x%20y'],
    ['q=x%2By'],
    ['a=1%26b=2', 'a=1%26b%3D2'],
    ['a', 'a='],
    ['q=%C3%A9', 'q=%c3%a9'],
    ['q=%E9'],
  ]
  for (const [first = '', ...others] of groups) {
    t.notOk(replayed(await send(first)), first)
    for (const other of others) t.ok(replayed(await send(other)), `${other} is ${first}`)
  }
  t.equal(upstream.count(), groups.length)
  t.equal(upstream.received[0]?.body.toString(), 'a=1&b=2', 'forwarded as it came')
})

t.test('with a key: the order is no mismatch, another value is, and it is named', async (t) => {
  const { upstream, ask } = await stage(t, { rules: FORMS })
  const send = (body: string) => ask('/keyed', { key: 'k', headers: URLENCODED, body })
  await send('amount=5&currency=eur')
  t.ok(replayed(await send('currency=eur&amount=5')))
  const mismatch = await send('currency=eur&amount=6')
  t.equal(mismatch.status, 422)
  t.same(mismatch.json().differs, ['/amount'])
  t.equal(upstream.count(), 1)
})

t.test('a file compares by its bytes, not by boundary, name or place', async (t) => {
  const { upstream, ask } = await stage(t, { rules: FORMS })
  const part = (name: string, value: string, more = '') => `Content-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`
  const send = (boundary: string, ...parts: string[]) =>
    ask('/whole', {
      headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
      body: `${parts.map((each) => `--${boundary}\r\n${each}`).join('')}--${boundary}--\r\n`,
    })
  const [note, file] = [part('note', 'hi'), part('file', 'bytes', '; filename="a.txt"')]
  t.notOk(replayed(await send('one', note, file)))
  t.ok(replayed(await send('two', part('file', 'bytes', '; filename="b.txt"'), note)))
  t.notOk(replayed(await send('one', note, part('file', 'byteS', '; filename="a.txt"'))))
  t.notOk(replayed(await send('one', note, part('file', 'bytes'))), 'a text is no file')
  t.equal(upstream.count(), 3)
})
