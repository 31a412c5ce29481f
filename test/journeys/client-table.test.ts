// Clients as they come, before the presets as they ship: whatever befalls a call, one execution, and its text for everybody.
import t from 'tap'
import { isRight, play, ROWS, ROWS_AT_ONCE, TABLE_MS } from './clients/table.ts'

t.setTimeout(TABLE_MS)
t.jobs = ROWS_AT_ONCE
for (const row of ROWS) {
  t.test(row.name, { buffered: true }, async (t) => {
    const ending = await play(row, 'gateway')
    t.ok(isRight(ending), JSON.stringify(ending))
  })
}
