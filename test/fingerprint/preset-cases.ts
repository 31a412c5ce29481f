// Requests for each preset, as data: one wish, further tries of it, other wishes, mistakes under the same name, what passes.
import type { Sent } from './requests.ts'

export interface PresetCase {
  readonly wish: Sent
  readonly tries: readonly Sent[]
  readonly others: readonly Sent[]
  /** The same fingerprint with another digest. */
  readonly mistakes?: readonly Sent[]
  readonly passing?: readonly Sent[]
}

const json = (url: string, body: object, ...headers: string[]): Sent => ({ url, body: JSON.stringify(body), headers })
const form = (url: string, body: string, ...headers: string[]): Sent => ({
  url,
  body,
  headers: ['Content-Type', 'application/x-www-form-urlencoded', ...headers],
})

const ANNA = ['Authorization', 'Bearer anna']
const BERT = ['Authorization', 'Bearer bert']

const chat = { model: 'm', messages: [{ role: 'user', content: 'hi' }] }
const CHAT = '/v1/chat/completions'
const response = { model: 'm', input: 'hi', previous_response_id: 'resp_1' }
const RESPONSES = '/v1/responses'
const KEY = ['X-Api-Key', 'k', 'Anthropic-Version', '2023-06-01']
const message = { ...chat, max_tokens: 9 }

const call = (id: number, args: object, more: object = {}): object => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'book', arguments: args, ...more },
})
const say = (method: string, text: string, ids: { id: number; messageId: string }, more: object = {}): object => ({
  jsonrpc: '2.0',
  id: ids.id,
  method,
  params: { message: { role: 'user', parts: [{ kind: 'text', text }], messageId: ids.messageId, contextId: 'c', ...more } },
})

const run = { assistant_id: 'agent', input: { messages: ['hi'] } }
const RUNS = '/threads/t1/runs/wait'

const signed = (key: string, day: string, signature: string): string[] => [
  'Authorization',
  `AWS4-HMAC-SHA256 Credential=${key}/${day}/us-east-1/bedrock/aws4_request, SignedHeaders=host, Signature=${signature}`,
  'X-Amz-Date',
  `${day}T000000Z`,
]
const converse = { messages: [{ role: 'user', content: [{ text: 'hi' }] }] }
const CONVERSE = '/model/nova/converse'

const PAY = '/v1/payment_intents'
const SDK_KEY = (id: string): string[] => [...ANNA, 'Idempotency-Key', `stripe-node-retry-${id}`]
const APP_KEY = [...ANNA, 'Idempotency-Key', 'mine']

const SESSION = ['Cookie', 'session=s1; seen=1']
const section = { section: 'intro', request_id: 'r1', sent_at: 1 }
const SECTIONS = '/tasks/7/sections'
const booking = { text: '帮我订3楼小会议室', room: '3楼小会议室', start: '明天下午3点', attendees: ['b'], message_id: 1 }

export const PRESET_CASES: Readonly<Record<string, PresetCase>> = {
  'openai-chat': {
    wish: json(CHAT, chat, ...ANNA),
    tries: [
      json(CHAT, { messages: chat.messages, model: 'm', stream: false, user: 'u' }, ...ANNA, 'X-Stainless-Retry-Count', '1'),
      json(CHAT, { ...chat, metadata: { trace: 2 } }, ...ANNA, 'Idempotency-Key', 'stainless-node-retry-1', 'Traceparent', '00-1-2-01'),
    ],
    others: [
      json(CHAT, chat, ...BERT),
      json(CHAT, chat, ...ANNA, 'Idempotency-Key', 'again'),
      json(CHAT, chat, ...ANNA, 'OpenAI-Project', 'p'),
      json(CHAT, { ...chat, stream: true }, ...ANNA),
      json(CHAT, { ...chat, seed: 1 }, ...ANNA),
      json(CHAT, { ...chat, messages: [...chat.messages, ...chat.messages] }, ...ANNA),
    ],
    passing: [json(CHAT, chat), json('/v1/embeddings', chat, ...ANNA)],
  },
  'openai-responses': {
    wish: json(RESPONSES, response, ...ANNA),
    tries: [
      json(RESPONSES, { ...response, store: true, background: false, stream: false }, ...ANNA),
      json(RESPONSES, { ...response, metadata: { a: '1' }, include: [] }, ...ANNA, 'X-Stainless-Retry-Count', '2'),
    ],
    others: [
      json(RESPONSES, { ...response, previous_response_id: 'resp_2' }, ...ANNA),
      json(RESPONSES, { ...response, background: true }, ...ANNA),
      json(RESPONSES, { ...response, input: 'ho' }, ...ANNA),
    ],
  },
  'anthropic-messages': {
    wish: json('/v1/messages', message, ...KEY),
    tries: [
      json('/v1/messages', { ...message, stream: false, metadata: { user_id: 'u' } }, ...KEY, 'X-Stainless-Retry-Count', '1'),
      json('/v1/messages', { max_tokens: 9.0, ...chat }, ...KEY, 'X-Stainless-Helper-Method', 'stream'),
    ],
    others: [
      json('/v1/messages', message, 'X-Api-Key', 'k', 'Anthropic-Version', '2024-01-01'),
      json('/v1/messages', message, ...KEY, 'Anthropic-Beta', 'b'),
      json('/v1/messages', { ...message, system: 'be brief' }, ...KEY),
    ],
    passing: [json('/v1/messages/count_tokens', message, ...KEY)],
  },
  'mcp-tools-call': {
    wish: json('/mcp', call(1, { room: 1 }), ...ANNA, 'Mcp-Session-Id', 's1'),
    tries: [
      json('/mcp', call(9, { room: 1 }, { _meta: { progressToken: 9 } }), ...ANNA, 'Mcp-Session-Id', 's2'),
      json('/mcp', call(1, { room: 1.0 }), ...ANNA, 'Mcp-Protocol-Version', '2025-06-18'),
    ],
    others: [
      json('/mcp', call(1, { room: 2 }), ...ANNA),
      json('/mcp', call(1, { room: 1 }, { name: 'cancel' }), ...ANNA),
      json('/mcp', call(1, { room: 1 }), 'Mcp-Session-Id', 's1'),
    ],
    passing: [
      json('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' }, ...ANNA),
      json('/mcp', { jsonrpc: '2.0', method: 'notifications/initialized' }, ...ANNA),
    ],
  },
  'a2a-message-send': {
    wish: json('/a2a', say('message/send', 'book', { id: 1, messageId: 'm1' }), ...ANNA),
    tries: [json('/a2a', say('message/send', 'book', { id: 2, messageId: 'm2' }, { metadata: { t: 1 } }), ...ANNA)],
    others: [
      json('/a2a', say('message/send', 'cancel', { id: 1, messageId: 'm1' }), ...ANNA),
      json('/a2a', say('message/send', 'book', { id: 1, messageId: 'm1' }, { contextId: 'd' }), ...ANNA),
      json('/a2a', say('message/stream', 'book', { id: 1, messageId: 'm1' }), ...ANNA),
      json('/a2a', say('SendMessage', 'book', { id: 1, messageId: 'm1' }), ...ANNA),
    ],
    passing: [json('/a2a', { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id: 't' } }, ...ANNA)],
  },
  'langgraph-runs': {
    wish: json(RUNS, run, ...ANNA),
    tries: [
      json(RUNS, { ...run, metadata: { trace: 1 }, config: { tags: ['x'], run_id: 'r' }, stream_subgraphs: false }, ...ANNA),
      json(RUNS, { ...run, multitask_strategy: 'reject', on_disconnect: 'continue' }, ...ANNA),
    ],
    others: [
      json('/threads/t2/runs/wait', run, ...ANNA),
      json(RUNS, { ...run, input: { messages: ['ho'] } }, ...ANNA),
      json(RUNS, { ...run, config: { configurable: { model: 'm' } } }, ...ANNA),
      json(RUNS, { assistant_id: 'agent', command: { resume: true } }, ...ANNA),
    ],
    passing: [json('/threads', {}, ...ANNA)],
  },
  'bedrock-converse': {
    wish: json(CONVERSE, converse, ...signed('AKIA1', '20240520', 'aa')),
    tries: [
      json(CONVERSE, { ...converse, requestMetadata: { try: '2' } }, ...signed('AKIA1', '20240521', 'bb'), 'Amz-Sdk-Request', 'attempt=2'),
    ],
    others: [
      json(CONVERSE, converse, ...signed('AKIA2', '20240520', 'aa')),
      json(CONVERSE, converse, ...signed('AKIA1', '20240520', 'aa'), 'X-Amz-Security-Token', 't'),
      json(CONVERSE, converse, 'Authorization', 'Bearer a/b'),
      json('/model/other/converse', converse, ...signed('AKIA1', '20240520', 'aa')),
      json(CONVERSE, { ...converse, inferenceConfig: { maxTokens: 9 } }, ...signed('AKIA1', '20240520', 'aa')),
    ],
    passing: [json(CONVERSE, converse), json('/model/nova/count-tokens', converse, ...signed('AKIA1', '20240520', 'aa'))],
  },
  'stripe-like-payments': {
    wish: form(PAY, 'amount=100&currency=eur&metadata[order_id]=o1', ...SDK_KEY('1')),
    tries: [
      form(PAY, 'currency=eur&amount=100&metadata%5Border_id%5D=o1&metadata[trace_id]=t2', ...SDK_KEY('2'), 'Stripe-Version', '2024-01-01'),
    ],
    others: [
      form(PAY, 'amount=100&currency=eur&metadata[order_id]=o2', ...SDK_KEY('1')),
      form(PAY, 'amount=100&currency=eur&metadata[order_id]=o1', ...SDK_KEY('1'), 'Stripe-Account', 'acct_1'),
      form(PAY, 'amount=100&currency=eur&metadata[order_id]=o1', ...APP_KEY),
      form('/v1/refunds', 'amount=100&currency=eur&metadata[order_id]=o1', ...SDK_KEY('1')),
    ],
    mistakes: [form(PAY, 'amount=900&currency=eur&metadata[order_id]=o1', ...SDK_KEY('3'))],
    passing: [form(PAY, 'amount=100&currency=eur', ...SDK_KEY('1')), form('/v1/customers', 'name=a', ...APP_KEY)],
  },
  'button-click': {
    wish: form('/actions/order', 'item=1&note=please+hurry&_csrf=a', ...SESSION),
    tries: [form('/actions/order', 'note=please%20hurry&timestamp=2&item=1&_csrf=b', 'Cookie', 'seen=2; session=s1')],
    others: [
      form('/actions/order', 'item=2&note=please+hurry', ...SESSION),
      form('/actions/cancel', 'item=1&note=please+hurry', ...SESSION),
      form('/actions/order', 'item=1&note=please+hurry', 'Cookie', 'session=s2'),
    ],
    passing: [form('/actions/order', 'item=1')],
  },
  'paper-section': {
    wish: json(SECTIONS, section, ...ANNA, 'X-Request-Id', 'p1'),
    tries: [
      json(SECTIONS, { ...section, sent_at: 2, attempt: 2, trace_id: 't' }, ...ANNA, 'X-Request-Id', 'p2'),
      json('/tasks/7/actions', { ...section, action: ' generate_section' }, ...ANNA),
      json(SECTIONS, { section: 'intro' }, ...ANNA, 'X-Client-Request-Id', 'r1'),
    ],
    others: [
      json('/tasks/8/sections', section, ...ANNA),
      json(SECTIONS, { ...section, request_id: 'r2' }, ...ANNA),
      json(SECTIONS, { ...section, action: 'REVISE_SECTION' }, ...ANNA),
    ],
    mistakes: [json(SECTIONS, { ...section, section: 'methods' }, ...ANNA)],
  },
  'meeting-booking': {
    wish: json('/bookings', booking, ...ANNA),
    tries: [
      json('/agents/a1/bookings', { ...booking, action: 'book', room: '789', start: '2024-05-21T15:00:30+08:00', message_id: 2 }, ...ANNA),
      json('/bookings', { ...booking, text: 'Reserve the room', room: ' Small  room on 3', start: 'tomorrow 3pm' }, ...ANNA),
    ],
    others: [
      json('/bookings', { ...booking, room: '790' }, ...ANNA),
      json('/bookings', { ...booking, start: '后天下午3点' }, ...ANNA),
      json('/bookings', { ...booking, text: '取消3楼小会议室' }, ...ANNA),
      json('/bookings', booking, ...BERT),
    ],
    mistakes: [json('/bookings', { ...booking, attendees: ['c'] }, ...ANNA)],
  },
}
