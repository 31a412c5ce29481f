// How the tables come about: once for all gateways, in the place that is asked for, or not at all and with the reason.
import t from 'tap'
import type { Store } from '../../src/stores/store.ts'
import { openStore } from '../../src/stores/open-store.ts'
import { PostgresServer } from '../helpers/postgres-server.ts'
import { acquireOf, newFingerprint, settleOf } from './requests.ts'

const server = await PostgresServer.start()
t.teardown(() => server.stop())

const options = { timeoutMs: 5000, warn: () => undefined }

/** Opens it, sees that it works, and closes it at the end of the test. */
async function opened(t: { teardown: (end: () => Promise<void>) => void }, url: string): Promise<Store> {
  const store = await openStore(url, options)
  t.teardown(() => store.close())
  await store.ping()
  return store
}

/** Why it does not open. */
async function refusal(url: string): Promise<string> {
  try {
    await (await openStore(url, options)).close()
    return 'it opened'
  } catch (error) {
    return String(error)
  }
}

t.test('of ten gateways that start at once each works, and the tables were made once', async (t) => {
  const { name, url } = await server.database()
  const stores = await Promise.all(Array.from({ length: 10 }, () => opened(t, url)))
  const fingerprint = newFingerprint()
  const claims = await Promise.all(stores.map((store) => store.acquire(acquireOf(fingerprint))))
  t.equal(claims.filter(({ kind }) => kind === 'acquired').length, 1)
  t.match(await server.sql('SELECT version, needs FROM oncegate_migration', name), [{ version: 1, needs: 1 }])
  const counts = `SELECT xact_commit::int AS done, xact_rollback::int AS failed FROM pg_stat_database WHERE datname = '${name}'`
  const [{ done, failed } = { done: 0, failed: 0 }] = await server.sql<{ done: number; failed: number }>(counts)
  t.ok(done >= 10, 'those who have made them, or found them made, are counted')
  t.equal(failed, 0, 'none has come in the way of another')
})

t.test('?schema= makes a schema and keeps everything in it; deployments in two schemas know nothing of each other', async (t) => {
  const { name, url } = await server.database()
  const [one, other] = [await opened(t, `${url}?schema=one`), await opened(t, `${url}?schema=other`)]
  const request = acquireOf(newFingerprint())
  await one.acquire(request)
  t.equal(await other.read(request.fingerprint), undefined)
  t.equal((await other.acquire(acquireOf(request.fingerprint))).kind, 'acquired')
  t.equal((await (await opened(t, `${url}?schema=one`)).acquire(acquireOf(request.fingerprint))).kind, 'in_flight')
  let heard = 0
  await other.watch(request.fingerprint, () => heard++)
  await one.settle(settleOf(request, 'completed'))
  const schemas = await server.sql(
    `SELECT DISTINCT relnamespace::regnamespace::text AS name FROM pg_class WHERE relname ~ '^oncegate' ORDER BY 1`,
    name,
  )
  t.same(schemas, [{ name: 'one' }, { name: 'other' }])
  t.equal(heard, 0)
})

t.test("without it the role's search_path says where", async (t) => {
  const { name, url } = await server.database()
  await server.sql('CREATE SCHEMA mine', name)
  await server.sql('CREATE SCHEMA yours', name)
  await server.sql(`ALTER DATABASE ${name} SET search_path = mine`)
  await opened(t, url)
  const where = () => server.sql(`SELECT schemaname AS schema FROM pg_tables WHERE tablename = 'oncegate_record' ORDER BY 1`, name)
  t.same(await where(), [{ schema: 'mine' }])
  await opened(t, `${url}?options=-c%20search_path%3Dyours`)
  t.same(await where(), [{ schema: 'mine' }, { schema: 'yours' }])
})

t.test('a role that may not create tables is told so, and what to do; where they are there it may work', async (t) => {
  const { name } = await server.database()
  await server.sql('CREATE ROLE guest LOGIN')
  const guest = server.url(name, 'guest')
  t.match(await refusal(guest), /the role guest may not create oncegate's tables in the schema public: permission denied.*GRANT CREATE/)
  t.match(await refusal(`${guest}?schema=mine`), /the role guest may not create oncegate's tables in the schema mine: permission denied/)
  t.same(await server.sql(`SELECT relname FROM pg_class WHERE relname ~ '^oncegate'`, name), [], 'nothing is left half made')

  await opened(t, server.url(name))
  t.match(await refusal(guest), /the role guest may not use .*oncegate_record/)
  await server.sql(
    'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO guest; GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO guest',
    name,
  )
  const store = await opened(t, guest)
  const request = acquireOf(newFingerprint())
  t.equal((await store.acquire(request)).kind, 'acquired')
  t.equal(await store.append({ ...request, offset: 0, chunk: Buffer.from('x'), head: { status: 200, headers: [] } }), 'ok')
  t.equal(await store.settle(settleOf(request, 'completed')), 'ok')
})

t.test('tables of a later version are refused, unless they say that this one can use them', async (t) => {
  const { name, url } = await server.database()
  await opened(t, url)
  await server.sql('INSERT INTO oncegate_migration (version, needs) VALUES (1000, 1)', name)
  await opened(t, url)
  await server.sql('UPDATE oncegate_migration SET needs = 1000 WHERE version = 1000', name)
  t.match(await refusal(url), /later oncegate \(version 1000\)/)
})

t.test('an address that leads nowhere is refused at once, without the password', async (t) => {
  t.match(await refusal(`postgres://postgres:pw-secret@127.0.0.1:${server.port}/nowhere`), /database "nowhere" does not exist/)
  t.match(await refusal(`${server.url()}?schema=Mine;--`), /schema= of a postgres/)
  t.match(await refusal(`${server.url()}?connections=0`), /connections= of a postgres/)
  t.match(await refusal(`${server.url()}?sslmode=verify-full&sslrootcert=/nowhere/ca.pem`), /ENOENT.*ca.pem/)
  t.match(await refusal('postgres://user:pw-secret@:x/'), /not a valid postgres/)
  await server.sql(`CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'`)
  t.match(await refusal(server.url('latin')), /encoding is LATIN1/)
})
