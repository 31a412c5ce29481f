import t from 'tap'
import { preferredWait } from '../../src/http/prefer.ts'

t.test('wait is found in any case, quoted or not, among other preferences', async (t) => {
  for (const header of ['wait=10', 'WAIT=10', 'respond-async, wait=10', 'wait = "10"', 'return=minimal,wait=10; x=y']) {
    t.equal(preferredWait(header), 10, header)
  }
})

t.test('what is not a number of seconds is no preference', async (t) => {
  for (const header of ['', 'respond-async', 'wait', 'wait=', 'wait=-1', 'wait=1.5', 'wait=soon', 'await=3']) {
    t.equal(preferredWait(header), undefined, header)
  }
})
