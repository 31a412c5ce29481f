// The AI SDK, with OpenAI's and Anthropic's models.
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, type LanguageModel, streamText } from 'ai'
import { chatCompletions } from './apis/chat-completions.ts'
import { messages } from './apis/messages.ts'
import { responses } from './apis/responses.ts'
import { type Call, type Client, joined, QUESTION } from './client.ts'

const openai = (url: string) => createOpenAI({ baseURL: `${url}/v1`, apiKey: 'test' })

function generated(model: LanguageModel, timeout: number | undefined): Call {
  return async () => (await generateText({ model, prompt: QUESTION, maxOutputTokens: 100, ...abortedAfter(timeout) })).text
}

function streamed(model: LanguageModel, timeout: number | undefined): Call {
  return () => {
    const { fullStream } = streamText({ model, prompt: QUESTION, maxOutputTokens: 100, ...abortedAfter(timeout), onError: () => {} })
    return joined(fullStream, (part) => {
      // Errors come as parts of the stream.
      if (part.type === 'error') throw part.error
      if (part.type === 'abort') throw new Error('timed out')
      return part.type === 'text-delta' ? part.text : undefined
    })
  }
}

function abortedAfter(timeout: number | undefined): { abortSignal: AbortSignal } | undefined {
  return timeout === undefined ? undefined : { abortSignal: AbortSignal.timeout(timeout) }
}

export const aiSdk: Client[] = [
  {
    name: 'ai with openai chat',
    api: chatCompletions,
    guard: { preset: 'openai-chat' },
    open: (url, timeout) => generated(openai(url).chat('test'), timeout),
  },
  {
    name: 'ai with openai responses',
    api: responses,
    guard: { preset: 'openai-responses' },
    open: (url, timeout) => generated(openai(url)('test'), timeout),
  },
  {
    name: 'ai with openai responses, streamed',
    api: responses,
    guard: { preset: 'openai-responses' },
    open: (url, timeout) => streamed(openai(url)('test'), timeout),
  },
  {
    name: 'ai with anthropic',
    api: messages,
    guard: { preset: 'anthropic-messages' },
    open: (url, timeout) => generated(createAnthropic({ baseURL: `${url}/v1`, apiKey: 'test' })('test'), timeout),
  },
]
