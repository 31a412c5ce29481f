// A fake of Anthropic's messages: JSON, or a stream of events.
import { type Api, events, json, words } from '../api.ts'

export const messages: Api = {
  reply: ({ body }, text) => {
    const usage = { input_tokens: 1, output_tokens: 1 }
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'test', stop_sequence: null, usage }
    if (JSON.parse(body.toString()).stream !== true) {
      return json({ ...message, content: [{ type: 'text', text }], stop_reason: 'end_turn' })
    }
    const list: { type: string; [member: string]: unknown }[] = [
      { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'ping' },
      ...words(text).map((word) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: word } })),
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage },
      { type: 'message_stop' },
    ]
    return events(list.map((data) => ({ event: data.type, data })))
  },
}
