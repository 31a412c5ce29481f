// Makes the tables and functions that the statements need, once for all gateways, and says plainly why it cannot.
import { Client } from 'pg'
import { withDeadline } from '../deadline.ts'
import { StoreUnavailable } from '../store.ts'
import type { PostgresAddress } from './address.ts'
import { settingsAreWrong, withoutArguments } from './faults.ts'
import { FUNCTIONS, MIGRATIONS } from './statements.ts'

/** A migration may wait for that of another gateway, and rewrite a table. */
const MIGRATION_MS = 60_000

/** Nothing that trying again would mend: the operator has to change something. */
export class TablesUnusable extends Error {
  override name = 'TablesUnusable'
}

interface State {
  readonly schema: string | null
  readonly role: string
  readonly encoding: string
  /** Of the tables; 0: none yet. */
  readonly version: number
  /** Those of ours that are there, as one text. */
  readonly functions: string
}

const TABLES = [
  'oncegate_record',
  'oncegate_piece',
  'oncegate_dropped_log',
  'oncegate_setting',
  'oncegate_group',
  'oncegate_waiter',
  'oncegate_name',
]

/** `closed` names a table that is there and that the role may not use. */
const LOOK = {
  name: 'oncegate_look',
  text: `SELECT current_schema() AS schema, current_user::text AS role, current_setting('server_encoding') AS encoding,
    to_regclass('oncegate_migration') IS NOT NULL AS tables,
    array_to_string(ARRAY(SELECT name FROM unnest($1::text[]) AS name WHERE to_regproc(name) IS NOT NULL), ' ') AS functions,
    (SELECT min(name) FROM unnest($2::text[]) AS name, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS privilege
      WHERE NOT has_table_privilege(to_regclass(name), privilege)) AS closed`,
}

/** `needs`: the oldest gateway that can use these tables, as the version that it makes. */
const VERSIONS = {
  name: 'oncegate_versions',
  text: 'SELECT coalesce(max(version), 0) AS version, coalesce(max(needs), 0) AS needs FROM oncegate_migration',
}

/**
 * Brings the tables to this gateway's version. Several gateways may do so at once: each change is made by one of them, in one
 * transaction under an advisory lock. Where all is there nothing is locked or written, so that a role without rights to create
 * anything will do. Rejects with TablesUnusable where an operator has to act, else with what the driver said.
 */
export async function prepareTables({ config, schema }: PostgresAddress, timeoutMs: number): Promise<void> {
  const client = new Client({ ...config, statement_timeout: MIGRATION_MS, application_name: 'oncegate migration' })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const state = await withDeadline('look', timeoutMs, look(client))
    if (!isReady(state)) await withDeadline('migrate', MIGRATION_MS, migrate(client, schema))
  } catch (fault) {
    const error: unknown = fault instanceof StoreUnavailable ? fault.cause : fault
    if (error instanceof TablesUnusable) throw error
    if (settingsAreWrong(error)) throw new TablesUnusable(`PostgreSQL refuses: ${withoutArguments(error).message}`)
    throw withoutArguments(error)
  } finally {
    client.connection.stream.destroy()
  }
}

function isReady({ version, functions }: State): boolean {
  return version >= MIGRATIONS.length && FUNCTIONS.every(({ name }) => functions.includes(name))
}

async function look(client: Client): Promise<State> {
  const values = [FUNCTIONS.map(({ name }) => name), TABLES]
  const { rows } = await client.query<Omit<State, 'version'> & { tables: boolean; closed: string | null }>({ ...LOOK, values })
  const { tables, closed, ...state } = rows[0]!
  if (state.encoding !== 'UTF8') throw new TablesUnusable(`the database's encoding is ${state.encoding}: it has to be UTF8`)
  if (closed !== null) {
    throw new TablesUnusable(
      `the role ${state.role} may not use the table ${closed}: grant it SELECT, INSERT, UPDATE and DELETE on ${TABLES.join(', ')}`,
    )
  }
  if (!tables) return { ...state, version: 0 }
  const versions = await client.query<{ version: number; needs: number }>(VERSIONS)
  const { version, needs } = versions.rows[0]!
  if (needs > MIGRATIONS.length) {
    throw new TablesUnusable(`the tables are those of a later oncegate (version ${version}), which this one cannot use`)
  }
  return { ...state, version }
}

async function migrate(client: Client, named: string | undefined): Promise<void> {
  // Held until the connection ends, and taken before the transaction begins: within one the server may go on believing that a table
  // which another has made meanwhile is not there. One key for each place: two deployments do not wait for each other.
  const key = `SELECT pg_advisory_lock(hashtextextended('oncegate tables ' || coalesce($1, current_schema(), ''), 0))`
  await client.query({ name: 'oncegate_lock', text: key, values: [named ?? null] })
  await client.query('BEGIN')
  const state = await look(client)
  const { role, version, functions } = state
  let { schema } = state
  try {
    if (schema === null && named !== undefined) {
      await client.query(`CREATE SCHEMA IF NOT EXISTS ${named}`)
      schema = named
    }
    if (schema === null)
      throw new TablesUnusable(`there is no schema for the tables: create one for the role ${role}, or name one (?schema=)`)
    if (version === 0) {
      await client.query(
        'CREATE TABLE oncegate_migration (version integer PRIMARY KEY, needs integer NOT NULL, at timestamptz DEFAULT now())',
      )
    }
    for (const [n, migration] of MIGRATIONS.entries()) {
      if (n < version) continue
      await client.query(migration)
      await client.query(`INSERT INTO oncegate_migration (version, needs) VALUES (${n + 1}, ${n + 1})`)
    }
    for (const { name, definition } of FUNCTIONS) if (!functions.includes(name)) await client.query(definition)
    await client.query('COMMIT')
  } catch (error) {
    throw settingsAreWrong(error) ? mayNotCreate(role, schema ?? named ?? '', error) : error
  }
}

function mayNotCreate(role: string, schema: string, error: unknown): TablesUnusable {
  return new TablesUnusable(
    `the role ${role} may not create oncegate's tables in the schema ${schema}: ${withoutArguments(error).message}. Grant it that ` +
      '(GRANT CREATE ON SCHEMA …; a schema that is not there yet also takes CREATE on the database), name another schema (?schema=…), ' +
      'or start the gateway once with a role that may',
  )
}
