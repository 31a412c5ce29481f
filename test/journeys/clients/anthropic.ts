// Anthropic's SDK.
import Anthropic from '@anthropic-ai/sdk'
import { messages } from './apis/messages.ts'
import { type Client, QUESTION } from './client.ts'

const api = { api: messages, guard: { preset: 'anthropic-messages' } }

const MESSAGE = { model: 'test', max_tokens: 100, messages: [{ role: 'user' as const, content: QUESTION }] }

const sdk = (url: string, timeout?: number): Anthropic => new Anthropic({ baseURL: url, apiKey: 'test', timeout })

const textOf = ({ content }: Anthropic.Message): string => content.map((block) => (block.type === 'text' ? block.text : '')).join('')

export const anthropic: Client[] = [
  {
    ...api,
    name: 'anthropic',
    open: (url, timeout) => {
      const client = sdk(url, timeout)
      return async () => textOf(await client.messages.create(MESSAGE))
    },
  },
  {
    ...api,
    name: 'anthropic, streamed',
    open: (url, timeout) => {
      const client = sdk(url, timeout)
      return async () => textOf(await client.messages.stream(MESSAGE).finalMessage())
    },
  },
]
