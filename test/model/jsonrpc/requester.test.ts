// What a request wants its answer to be called by, in its own spelling.
import t from 'tap'
import { requesterOf } from '../../../src/model/jsonrpc/requester.ts'

const NOBODY = { id: undefined, progressToken: undefined }

t.test('id and progress token are taken as they are written', async (t) => {
  for (const id of ['0', '"a\\u0062"', 'null', '1.0', '12345678901234567890', '"ключ"', '"\\"id\\":2"']) {
    const body = `{"jsonrpc":"2.0","id": ${id} ,"method":"m","params":{"id":9,"_meta":{"progressToken":${id},"id":8},"progressToken":1}}`
    t.same(requesterOf(Buffer.from(body)), { id, progressToken: id })
  }
  t.same(requesterOf(Buffer.from('\ufeff {"method":"m","params":[{"id":1}],"id":7}')), { id: '7', progressToken: undefined })
})

t.test('a list counts where one of its messages has an id', async (t) => {
  t.same(requesterOf(Buffer.from('[{"method":"note"},{"id":3,"method":"m","params":{"_meta":{"progressToken":"p"}}}]')), {
    id: '3',
    progressToken: '"p"',
  })
  t.same(requesterOf(Buffer.from('[{"id":3,"method":"m"},{"id":4,"method":"m"}]')), NOBODY)
})

t.test('without an id, or without JSON, there is none', async (t) => {
  for (const body of [
    '',
    '{}',
    '{"method":"note","params":{"_meta":{"progressToken":1}}}',
    '{"id":[1]}',
    '{"id":oops}',
    '{"id":01}',
    '{"id":"\n"}',
    'id=1',
    '7',
  ])
    t.same(requesterOf(Buffer.from(body)), NOBODY, body)
})
