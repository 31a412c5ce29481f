import t from 'tap'
import { newExecutionId } from '../../src/model/execution-id.ts'

t.test('an execution id is a UUIDv7 of the present time (RFC 9562 5.7)', async (t) => {
  const before = Date.now()
  const id = newExecutionId()
  t.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  const time = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
  t.ok(time >= before && time <= Date.now())
})

t.test('no two are the same', async (t) => {
  t.equal(new Set(Array.from({ length: 10_000 }, newExecutionId)).size, 10_000)
})
