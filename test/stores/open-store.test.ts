import t from 'tap'
import { openStore } from '../../src/stores/open-store.ts'

const options = { timeoutMs: 500, warn: () => undefined }

t.test('memory: opens', async (t) => {
  const store = await openStore('memory:', options)
  await t.resolves(store.ping())
  await store.close()
})

t.test('an address that names no store is refused, and never shown: it may hold a password', async (t) => {
  for (const url of [
    '',
    'lmdb:',
    'mysql://user:pw@host',
    'redis',
    'redis+sentinel://user:pw@a',
    'redis+cluster://user:pw@a/1',
    'redis+x://user:pw@a',
    'postgres://user:pw@:x/',
  ]) {
    const error = await openStore(url, options).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    t.type(error, RangeError, url)
    t.notMatch(String(error), 'pw')
  }
})
