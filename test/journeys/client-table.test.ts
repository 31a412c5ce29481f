// Clients as they come, before the presets as they ship: whatever befalls a call, one execution, and its text for everybody.
import t from 'tap'
import { until, within } from '../helpers/until.ts'
import { textOf } from './clients/api.ts'
import { mcp } from './clients/mcp.ts'
import { setScene } from './clients/scene.ts'
import { isRight, play, ROWS, ROWS_AT_ONCE, TABLE_MS } from './clients/table.ts'

t.setTimeout(TABLE_MS)
t.jobs = ROWS_AT_ONCE
for (const row of ROWS) {
  t.test(row.name, { buffered: true }, async (t) => {
    const ending = await play(row, 'gateway')
    t.ok(isRight(ending), JSON.stringify(ending))
  })
}

t.test('mcp, streamed: a client whose stream was cut goes on by itself, and nobody clicks again', { buffered: true }, async (t) => {
  const client = mcp.find(({ name }) => name === 'mcp, streamed')!
  const scene = await setScene(client, 'gateway', 'in halves')
  t.teardown(() => scene.close())
  const { backend, network } = scene
  const text = (await client.open(scene.url))()
  await backend.runs(1)
  network.fault = 'cutInside'
  backend.begin()
  await until('an answer is cut', () => network.dropped > 0)
  network.fault = 'none'
  await within('the client comes again', network.nextRequest(), 10_000)
  backend.finish()
  t.equal(await within('the answer', text, 10_000), textOf(1))
  t.equal(backend.executions.length, 1)
})
