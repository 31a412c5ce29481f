// LangChain with OpenAI's chat model.
import { ChatOpenAI } from '@langchain/openai'
import { chatCompletions } from './apis/chat-completions.ts'
import { type Client, joined, QUESTION } from './client.ts'

const chat = { api: chatCompletions, guard: { preset: 'openai-chat' } }

const model = (url: string, timeout?: number): ChatOpenAI =>
  new ChatOpenAI({ model: 'test', apiKey: 'test', configuration: { baseURL: `${url}/v1` }, timeout })

export const langchain: Client[] = [
  {
    ...chat,
    name: 'langchain',
    open: (url, timeout) => {
      const client = model(url, timeout)
      return async () => (await client.invoke(QUESTION)).text
    },
  },
  {
    ...chat,
    name: 'langchain, streamed',
    open: (url, timeout) => {
      const client = model(url, timeout)
      return async () => joined(await client.stream(QUESTION), ({ text }) => text)
    },
  },
]
