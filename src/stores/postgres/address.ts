// What a postgres:// address says, in the driver's terms.
import type { PoolConfig } from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'
import { columnTypes } from './column-types.ts'

const DEFAULT_CONNECTIONS = 10
/**
 * Every row is found by its key. A plan is made once for a connection, perhaps while the table is small enough for the server to
 * read it all, and would still do so when it is large.
 */
const PLANS = '-c enable_seqscan=off -c jit=off'
/** The server gives up a statement a little before the gateway does, and the connection is of use again. */
const SERVER_SHARE = 0.9

export interface PostgresAddress {
  readonly config: PoolConfig
  /** `?schema=`: where the tables are; undefined: the first schema of the role's search_path. */
  readonly schema: string | undefined
}

/**
 * `postgres://user:password@host:5432/database`, with what libpq's addresses may say besides (`sslmode`, `sslrootcert`,
 * `host` of a socket), and `schema` and `connections` of our own. What is not said comes from PGUSER, PGPASSWORD and the like.
 */
export function readAddress(address: string, timeoutMs: number): PostgresAddress {
  if (!URL.canParse(address)) throw new RangeError('not a valid postgres:// URL')
  const url = new URL(address)
  const schema = url.searchParams.get('schema') ?? undefined
  const connections = Number(url.searchParams.get('connections') ?? DEFAULT_CONNECTIONS)
  if (schema !== undefined && !/^[a-z_][a-z0-9_]{0,39}$/.test(schema)) {
    throw new RangeError('schema= of a postgres:// URL is up to 40 small letters, digits and _, and begins with no digit')
  }
  if (!Number.isInteger(connections) || connections < 1 || connections > 1000) {
    throw new RangeError('connections= of a postgres:// URL is a number from 1 to 1000')
  }
  url.searchParams.delete('schema')
  url.searchParams.delete('connections')
  // Read once: the files of certificates that it names are not looked for again with each connection.
  const said = parseIntoClientConfig(url.href)
  const options = [PLANS, said.options, schema && `-c search_path=${schema}`].filter(Boolean).join(' ')
  const config = {
    ...said,
    fallback_application_name: 'oncegate',
    max: connections,
    // All come to be used under load, and a quiet gateway keeps them: a new one costs more than an idle one.
    idleTimeoutMillis: 0,
    connectionTimeoutMillis: timeoutMs,
    keepAlive: true,
    statement_timeout: Math.max(1, Math.floor(timeoutMs * SERVER_SHARE)),
    options,
    types: columnTypes,
  }
  return { config, schema }
}
