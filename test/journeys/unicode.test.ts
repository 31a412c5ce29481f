// Texts compare as sent unless a rule says otherwise, and reach the upstream as sent whatever it says.
import t from 'tap'
import { fingerprintOf, replayed, stage } from '../helpers/stage.ts'
import { SHARED_STORES } from '../helpers/shared-store.ts'
import { startUpstream } from '../helpers/upstream.ts'

const AS_SENT = `
  - name: search
    match: { path: /search }
    fingerprint: { q: body.q }
`
const COMPOSED = AS_SENT.replace('body.q', '{ from: body.q, apply: [nfc] }')
const [composed, decomposed] = ['{"q":"caf\u00e9"}', '{"q":"cafe\u0301"}']

t.test('with nfc both spellings of one word are one, and the bytes stay as they came', async (t) => {
  const { upstream, ask } = await stage(t, { rules: COMPOSED })
  await ask('/search', { raw: decomposed })
  t.ok(replayed(await ask('/search', { raw: composed })))
  t.ok(replayed(await ask('/search', { raw: String.raw`{"q":"cafe\u0301"}` })), 'escaped')
  t.equal(upstream.count(), 1)
  t.equal(upstream.received[0]?.body.toString(), decomposed)
})

t.test('without it they are two', async (t) => {
  const { upstream, ask } = await stage(t, { rules: AS_SENT })
  const words = [composed, decomposed, '{"q":"cafe"}', '{"q":"CAF\u00c9"}', '{"q":"\uff43afe"}']
  for (const raw of words) t.notOk(replayed(await ask('/search', { raw })), raw)
  t.equal(upstream.count(), words.length)
})

t.test('half a surrogate pair is a text like any other', async (t) => {
  const { upstream, ask } = await stage(t, { rules: COMPOSED })
  const halves = ['\\ud800', '\\ud801', '\\udc00', '\\udc00\\ud800', '\ufffd', '\\ud800\\udc00'].map((q) => `{"q":"${q}"}`)
  const seen = new Set<string>()
  for (const raw of halves) {
    const answer = await ask('/search', { raw })
    t.equal(answer.status, 200, raw)
    seen.add(fingerprintOf(answer))
  }
  t.equal(seen.size, halves.length)
  for (const raw of halves) t.ok(replayed(await ask('/search', { raw })), raw)
  t.equal(upstream.count(), halves.length)
})

t.test('a rule that is changed to nfc takes no earlier record for another request', async (t) => {
  const shared = await SHARED_STORES.lmdb()
  t.teardown(shared.remove)
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const before = await stage(t, { rules: AS_SENT, store: shared.url, upstream })
  const results = new Map<string, string>()
  for (const raw of [composed, decomposed]) results.set(raw, (await before.ask('/search', { raw })).text)
  await before.gateway.close()
  const after = await stage(t, { rules: COMPOSED, store: shared.url, upstream })
  for (const raw of [composed, decomposed]) {
    const answer = await after.ask('/search', { raw })
    t.equal(answer.status, 200, 'replayed or executed, never a mismatch')
    t.ok(replayed(answer))
  }
  t.equal(upstream.count(), 2, 'the composed spelling has the record that it had')
})
