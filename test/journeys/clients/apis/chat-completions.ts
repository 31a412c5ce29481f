// A fake of OpenAI's chat completions: JSON, or a stream of events.
import { type Api, events, json, words } from '../api.ts'

export const chatCompletions: Api = {
  reply: ({ body }, text) => {
    const common = { id: 'chatcmpl-1', created: 1, model: 'test' }
    if (JSON.parse(body.toString()).stream !== true) {
      const choices = [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }]
      return json({ ...common, object: 'chat.completion', choices, usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } })
    }
    const chunk = (delta: object, finish_reason: string | null = null) => ({
      data: { ...common, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] },
    })
    return events([...words(text).map((content) => chunk({ role: 'assistant', content })), chunk({}, 'stop'), { data: '[DONE]' }])
  },
}
