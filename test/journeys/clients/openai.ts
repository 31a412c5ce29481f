// The openai SDK.
import OpenAI from 'openai'
import { chatCompletions } from './apis/chat-completions.ts'
import { responses } from './apis/responses.ts'
import { type Client, joined, QUESTION } from './client.ts'

const chat = { api: chatCompletions, guard: { preset: 'openai-chat' } }
const response = { api: responses, guard: { preset: 'openai-responses' } }

const CHAT = { model: 'test', messages: [{ role: 'user' as const, content: QUESTION }] }
const RESPONSE = { model: 'test', input: QUESTION }

const sdk = (url: string, timeout?: number): OpenAI => new OpenAI({ baseURL: `${url}/v1`, apiKey: 'test', timeout })

export const openai: Client[] = [
  {
    ...chat,
    name: 'openai chat',
    open: (url, timeout) => {
      const client = sdk(url, timeout)
      return async () => (await client.chat.completions.create(CHAT)).choices[0]?.message.content ?? ''
    },
  },
  {
    ...chat,
    name: 'openai chat, streamed',
    open: (url, timeout) => {
      const client = sdk(url, timeout)
      return async () =>
        joined(await client.chat.completions.create({ ...CHAT, stream: true }), (chunk) => chunk.choices[0]?.delta.content ?? '')
    },
  },
  {
    ...response,
    name: 'openai responses',
    open: (url, timeout) => {
      const client = sdk(url, timeout)
      return async () => (await client.responses.create(RESPONSE)).output_text
    },
  },
  {
    ...response,
    name: 'openai responses, streamed',
    open: (url, timeout) => {
      const client = sdk(url, timeout)
      return async () =>
        joined(await client.responses.create({ ...RESPONSE, stream: true }), (event) =>
          event.type === 'response.output_text.delta' ? event.delta : undefined,
        )
    },
  },
]
