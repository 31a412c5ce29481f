// The same table before a bare proxy: there nearly every row executes more than once, so the table does see.
import t from 'tap'
import { isRight, play, type Row, ROWS, ROWS_AT_ONCE, TABLE_MS } from './clients/table.ts'

t.setTimeout(TABLE_MS)
t.test('before a bare @fastify/http-proxy nine rows in ten are wrong', { timeout: TABLE_MS }, async (t) => {
  const left = [...ROWS]
  const right: Row[] = []
  let repeated = 0
  const playAll = async (): Promise<void> => {
    for (let row = left.shift(); row !== undefined; row = left.shift()) {
      const ending = await play(row, 'bare proxy')
      if (ending.executions > 1) repeated++
      if (isRight(ending)) right.push(row)
    }
  }
  await Promise.all(Array.from({ length: ROWS_AT_ONCE }, playAll))
  t.comment(`${ROWS.length} rows, ${repeated} executed more than once; right: ${right.map(({ name }) => name).join('; ') || 'none'}`)
  t.ok(repeated >= ROWS.length * 0.9, `${repeated} of ${ROWS.length} executed more than once`)
  t.ok(right.length <= ROWS.length * 0.1, `${right.length} of ${ROWS.length} are right`)
})
