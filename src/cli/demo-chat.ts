// The demo agent's chat completions, in the form of OpenAI's API: word by word, or whole.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Call, secondsOf, sendJson, startEvents } from './demo-call.ts'

const SECONDS = 15

const ANSWER = `A real agent would think now, call its tools, and cost you money. I only take my time.
Reload this page before I am done. Your browser leaves; I work on. The page asks the same question again, the gateway
knows it by what it says, and you get every word so far, then the rest while I write it.
A second tab at this address follows the same answer, and so does a second click.
However often this is asked, I run once.`

/** As much of OpenAI's `POST /v1/chat/completions` as a client needs to read an answer; `seconds` in the body sets the pace. */
export async function chat(call: Call): Promise<void> {
  const { response, fields, execution, closing } = call
  const { model = 'demo' } = fields
  const words = `You asked: “${questionOf(fields['messages'])}” ${ANSWER}`.split(/\s+/)
  const milliseconds = secondsOf(call, SECONDS) * 1000
  const about = { id: `chatcmpl-${execution}`, created: Math.floor(Date.now() / 1000), model }
  if (fields['stream'] !== true) {
    await sleep(milliseconds, undefined, { signal: closing })
    const message = { role: 'assistant', content: words.join(' '), refusal: null }
    const choices = [{ index: 0, message, logprobs: null, finish_reason: 'stop' }]
    return sendJson(response, 200, { ...about, object: 'chat.completion', choices })
  }
  const send = (delta: object, finish_reason: string | null = null) =>
    response.write(
      `data: ${JSON.stringify({ ...about, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`,
    )
  startEvents(response)
  send({ role: 'assistant', content: '' })
  for (const [index, word] of words.entries()) {
    await sleep(milliseconds / words.length, undefined, { signal: closing })
    send({ content: index === 0 ? word : ` ${word}` })
  }
  send({}, 'stop')
  response.end('data: [DONE]\n\n')
}

/** What the last message says; messages of several parts, and none at all, are not quoted. */
function questionOf(messages: unknown): string {
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined
  return typeof last === 'object' && last !== null && 'content' in last && typeof last.content === 'string' ? last.content : '…'
}
