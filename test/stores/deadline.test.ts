import t from 'tap'
import { withDeadline } from '../../src/stores/deadline.ts'
import { StoreUnavailable } from '../../src/stores/store.ts'
import { within } from '../helpers/until.ts'

t.test('a driver that never answers is not waited for, and its late failure disturbs nobody', async (t) => {
  let fail: (error: Error) => void = () => undefined
  const work = new Promise<void>((_, reject) => (fail = reject))
  await t.rejects(within('a refusal', withDeadline('acquire', 50, work), 1000), StoreUnavailable)
  fail(new Error('late'))
  await new Promise(setImmediate)
})

t.test('a fault of the driver is told as the store being out of reach, with its cause', async (t) => {
  const cause = new Error('disk full')
  await t.rejects(withDeadline('settle', 1000, Promise.reject(cause)), { name: 'StoreUnavailable', message: /settle/, cause })
})
