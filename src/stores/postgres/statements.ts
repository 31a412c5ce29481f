// The SQL beside this file: plain statements, and the functions of those verbs that need more than one look.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { COLUMNS } from './rows.ts'

/** Prepared once on each connection, under its name. */
export interface Statement {
  readonly name: string
  readonly text: string
}

/**
 * A function in the database. Its name carries a hash of its text, as a script in Redis goes by its own: gateways of two versions
 * call each their own, side by side.
 */
export interface DatabaseFunction {
  readonly name: string
  readonly definition: string
}

function sqlFile(name: string): string {
  // `npm run build` copies them beside the compiled file, so that one relative address fits both trees.
  return readFileSync(new URL(`./sql/${name}.sql`, import.meta.url), 'utf8')
}

function plain(name: string): Statement {
  return { name: `oncegate_${name}`, text: sqlFile(name).replace('RECORD_COLUMNS', COLUMNS.map((column) => `r.${column}`).join(', ')) }
}

function databaseFunction(verb: string): DatabaseFunction {
  const source = sqlFile(verb)
  const plainName = `oncegate_${verb.replaceAll('-', '_')}`
  const name = `${plainName}_${createHash('sha256').update(source).digest('hex').slice(0, 12)}`
  return { name, definition: source.replace(`FUNCTION ${plainName}(`, `FUNCTION ${name}(`) }
}

const acquire = databaseFunction('acquire')
const settle = databaseFunction('settle')
const append = databaseFunction('append')
const renewInGroup = databaseFunction('renew-in-group')

export const FUNCTIONS: readonly DatabaseFunction[] = [acquire, settle, append, renewInGroup]

/** From the first on; the number of each is the version of the tables that it makes. */
export const MIGRATIONS: readonly string[] = ['migrations/1', 'migrations/2', 'migrations/3', 'migrations/4'].map(sqlFile)

const ofRecord = COLUMNS.map((column) => `(a.record).${column}`).join(', ')

export const STATEMENTS = {
  acquire: {
    name: acquire.name,
    text: `SELECT a.kind, a.read_at, a.held, array_to_string(a.places, ' ') AS places, ${ofRecord}, (a.record).body
      FROM ${acquire.name}($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) AS a`,
  },
  settle: { name: settle.name, text: `SELECT word, wakes FROM ${settle.name}($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)` },
  append: { name: append.name, text: `SELECT ${append.name}($1, $2, $3, $4, $5, $6) AS word` },
  renew: plain('renew'),
  renewInGroup: { name: renewInGroup.name, text: `SELECT cancelled FROM ${renewInGroup.name}($1, $2, $3, $4, $5)` },
  cancel: plain('cancel'),
  remove: plain('remove'),
  list: plain('list'),
  read: plain('read'),
  readLog: plain('read-log'),
  secret: plain('secret'),
  sweep: plain('sweep'),
  sweepPieces: plain('sweep-pieces'),
  sweepGroups: plain('sweep-groups'),
  ping: { name: 'oncegate_ping', text: `SELECT current_setting('transaction_read_only') = 'on' AS read_only` },
} satisfies Record<string, Statement>
