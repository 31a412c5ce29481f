// What the demo agent executes, and counts: slow work, work at once, work that fails, an echo, and a chat.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Call, secondsOf, sendJson, startEvents } from './demo-call.ts'
import { chat } from './demo-chat.ts'

const WORDS = 'A thing that was asked for twice and done once is done well; whoever asks again hears of the first time.'.split(' ')
const SECONDS = 5

interface Route {
  readonly run: (call: Call) => void | Promise<void>
  /** The body is a JSON object. */
  readonly json: boolean
}

/** By method (`*` is any) and path. */
export const ROUTES: Readonly<Record<string, Route>> = {
  'POST /v1/generate': { run: generate, json: true },
  'POST /v1/chat/completions': { run: chat, json: true },
  'POST /v1/pay': { run: pay, json: true },
  'POST /v1/fail': { run: fail, json: true },
  '* /echo': { run: echo, json: false },
}

async function generate(call: Call): Promise<void> {
  const { response, fields, execution, closing } = call
  const { task = null, section = null } = fields
  const milliseconds = secondsOf(call, SECONDS) * 1000
  if (fields['stream'] !== true) {
    await sleep(milliseconds, undefined, { signal: closing })
    return sendJson(response, 200, { execution, task, section, text: WORDS.join(' '), written_at: new Date().toISOString() })
  }
  startEvents(response)
  for (const [index, word] of WORDS.entries()) {
    await sleep(milliseconds / WORDS.length, undefined, { signal: closing })
    response.write(`data: ${JSON.stringify({ execution, task, section, index, token: `${word} ` })}\n\n`)
  }
  response.end('data: [DONE]\n\n')
}

function pay({ response, fields, execution }: Call): void {
  const { amount = null, currency = null } = fields
  sendJson(response, 200, { execution, payment: `pay_${execution}`, amount, currency, status: 'succeeded' })
}

/** Every first call fails and the next one works, so that a retry can be seen to help. */
function fail({ response, execution }: Call): void {
  if (execution % 2 === 0) return sendJson(response, 200, { execution, status: 'succeeded' })
  response.setHeader('retry-after', '1')
  sendJson(response, 503, { execution, error: 'overloaded, try again' })
}

function echo({ request, response, body, execution }: Call): void {
  const headers = []
  for (let at = 0; at < request.rawHeaders.length; at += 2) headers.push(request.rawHeaders.slice(at, at + 2))
  sendJson(response, 200, { execution, method: request.method, url: request.url, headers, body })
}
