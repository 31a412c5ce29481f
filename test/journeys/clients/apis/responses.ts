// A fake of OpenAI's responses: JSON, or a stream of events.
import { type Api, events, json, words } from '../api.ts'

export const responses: Api = {
  reply: ({ body }, text) => {
    const part = { type: 'output_text', text, annotations: [] }
    const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [part] }
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
    const begun = { id: 'resp_1', object: 'response', created_at: 1, model: 'test', status: 'in_progress', output: [] }
    const completed = { ...begun, status: 'completed', output: [item], usage }
    if (JSON.parse(body.toString()).stream !== true) return json(completed)
    const place = { item_id: item.id, output_index: 0, content_index: 0 }
    const list: { type: string; [member: string]: unknown }[] = [
      { type: 'response.created', response: begun },
      { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', content: [] } },
      { type: 'response.content_part.added', ...place, part: { ...part, text: '' } },
      ...words(text).map((delta) => ({ type: 'response.output_text.delta', ...place, delta, logprobs: [] })),
      { type: 'response.output_text.done', ...place, text, logprobs: [] },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: completed },
    ]
    return events(list.map((data, n) => ({ event: data.type, data: { ...data, sequence_number: n } })))
  },
}
