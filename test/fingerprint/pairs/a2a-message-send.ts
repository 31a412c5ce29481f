// A message from one agent to another: what is said, by whom, where in the conversation.
import { ANNA, BERT, json, text, type Kind } from './kind.ts'

const say = (ids: { id: number | string; messageId: string }, more: object = {}, params: object = {}): object => ({
  jsonrpc: '2.0',
  id: ids.id,
  method: 'message/send',
  params: {
    message: {
      kind: 'message',
      role: 'user',
      parts: [{ kind: 'text', text: 'Book the room' }],
      messageId: ids.messageId,
      contextId: 'c',
      ...more,
    },
    ...params,
  },
})
const ids = { id: 1, messageId: 'm1' }
const fact = say(ids)
const newer = { ...fact, method: 'SendMessage', params: { message: { role: 'ROLE_USER', parts: [{ text: 'Book' }], messageId: 'm1' } } }

export const a2aMessageSend: Kind = {
  name: 'message between agents (A2A)',
  preset: 'a2a-message-send',
  facts: [
    {
      request: json('/a2a', fact, ...ANNA),
      same: {
        'another id of the call': json('/a2a', say({ id: 2, messageId: 'm1' }), ...ANNA),
        'an id that is a text': json('/a2a', say({ id: 'one', messageId: 'm1' }), ...ANNA),
        'another id of the message': json('/a2a', say({ id: 1, messageId: 'm2' }), ...ANNA),
        'metadata of the message and of the call': json('/a2a', say(ids, { metadata: { trace: 1 } }, { metadata: { try: 2 } }), ...ANNA),
        'other field order': text('/a2a', JSON.stringify(Object.fromEntries(Object.entries(fact).toReversed()), null, 1), ...ANNA),
        'another program and trace': json('/a2a', fact, 'User-Agent', 'agent/2', ...ANNA, 'Traceparent', '00-1-2-01'),
      },
      different: {
        'other words': json('/a2a', say(ids, { parts: [{ kind: 'text', text: 'Cancel the room' }] }), ...ANNA),
        'a part more': json(
          '/a2a',
          say(ids, {
            parts: [
              { kind: 'text', text: 'Book the room' },
              { kind: 'data', data: {} },
            ],
          }),
          ...ANNA,
        ),
        'another conversation': json('/a2a', say(ids, { contextId: 'd' }), ...ANNA),
        'about a task': json('/a2a', say(ids, { taskId: 't1' }), ...ANNA),
        'with regard to another task': json('/a2a', say(ids, { referenceTaskIds: ['t1'] }), ...ANNA),
        'by the agent': json('/a2a', say(ids, { role: 'agent' }), ...ANNA),
        'to be answered at once': json('/a2a', say(ids, {}, { configuration: { blocking: false } }), ...ANNA),
        streamed: json('/a2a', { ...fact, method: 'message/stream' }, ...ANNA),
        'another tenant': json('/a2a', say(ids, {}, { tenant: 'x' }), ...ANNA),
        'another caller': json('/a2a', fact, ...BERT),
        'another agent': json('/a2a/rooms', fact, ...ANNA),
      },
    },
    {
      request: json('/', newer, 'X-Api-Key', 'k'),
      same: { 'another id of the call, with a version': json('/', { ...newer, id: 'x' }, 'X-Api-Key', 'k', 'A2A-Version', '1.0') },
      different: { streamed: json('/', { ...newer, method: 'SendStreamingMessage' }, 'X-Api-Key', 'k') },
    },
  ],
  passing: [json('/a2a', { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id: 't' } }, ...ANNA)],
}
