// A chat completion: the body says what is wished, in whatever spelling and from whatever SDK.
import { ANNA, BERT, json, text, type Kind } from './kind.ts'

const CHAT = '/v1/chat/completions'
const messages = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Ein Café in Köln?' },
]
const chat = { model: 'gpt-4o', messages, temperature: 0.5, n: 1 }
const spelled = (body: string, ...headers: string[]) => text(CHAT, body, ...ANNA, ...headers)

export const openaiChat: Kind = {
  name: 'chat completion (OpenAI)',
  preset: 'openai-chat',
  facts: [
    {
      request: json(CHAT, chat, ...ANNA),
      same: {
        'other field order, also within': spelled(
          '{"n":1,"temperature":0.5,"messages":[{"content":"Be brief.","role":"system"},{"content":"Ein Café in Köln?","role":"user"}],"model":"gpt-4o"}',
        ),
        'white space, as Python writes it': spelled(JSON.stringify(chat, null, 2).replaceAll('":', '" :')),
        'characters escaped': spelled(
          JSON.stringify(chat)
            .replaceAll('é', String.raw`\u00e9`)
            .replaceAll('ö', String.raw`\u00F6`),
        ),
        'numbers in another spelling': spelled(JSON.stringify(chat).replace('0.5', '5.0e-1').replace('"n":1', '"n":1.0')),
        'stream said to be false': json(CHAT, { ...chat, stream: false }, ...ANNA),
        "an SDK's second try": json(CHAT, chat, ...ANNA, 'X-Stainless-Retry-Count', '1', 'X-Stainless-Timeout', '600'),
        'another device and SDK': json(CHAT, chat, 'user-agent', 'openai-python/1.9', 'AUTHORIZATION', 'Bearer anna', 'Accept', '*/*'),
        'other transport ids': json(
          CHAT,
          chat,
          ...ANNA,
          'X-Request-Id',
          'r2',
          'Traceparent',
          '00-0af7651916cd43dd8448eb211c80319c-b7ad6b71-01',
        ),
        "the SDK's own key": json(CHAT, chat, ...ANNA, 'Idempotency-Key', 'stainless-node-retry-7f'),
        'other accounting fields': json(CHAT, { ...chat, user: 'u2', metadata: { try: '2' }, prompt_cache_key: 'p' }, ...ANNA),
        'a character set named': json(CHAT, chat, ...ANNA, 'Content-Type', 'application/json; charset=utf-8'),
        'a slash at the end, and escapes': json('/v1/chat/%63ompletions/', chat, ...ANNA),
      },
      different: {
        'another caller': json(CHAT, chat, ...BERT),
        'another project pays': json(CHAT, chat, ...ANNA, 'OpenAI-Project', 'p'),
        'a key of the application': json(CHAT, chat, ...ANNA, 'Idempotency-Key', 'again'),
        'another order of messages': json(CHAT, { ...chat, messages: messages.toReversed() }, ...ANNA),
        'a space more in the prompt': json(
          CHAT,
          { ...chat, messages: [messages[0], { role: 'user', content: 'Ein  Café in Köln?' }] },
          ...ANNA,
        ),
        'another role': json(CHAT, { ...chat, messages: [messages[0], { role: 'developer', content: 'Ein Café in Köln?' }] }, ...ANNA),
        'a turn later': json(CHAT, { ...chat, messages: [...messages, { role: 'user', content: 'And?' }] }, ...ANNA),
        'events instead of JSON': json(CHAT, { ...chat, stream: true }, ...ANNA),
        'slightly warmer': json(CHAT, { ...chat, temperature: 0.51 }, ...ANNA),
        'a seed that a double cannot tell from another': spelled(JSON.stringify(chat).replace('"n":1', '"n":1,"seed":9007199254740993')),
        'a number as a text': json(CHAT, { ...chat, n: '1' }, ...ANNA),
        'a setting that is not known': json(CHAT, { ...chat, service_tier: 'flex' }, ...ANNA),
      },
    },
    {
      request: spelled(JSON.stringify({ ...chat, seed: 1 }).replace('"seed":1', '"seed":9007199254740992')),
      same: {
        'the seed with an exponent': spelled(JSON.stringify({ ...chat, seed: 1 }).replace('"seed":1', '"seed":9.007199254740992e15')),
      },
      different: {
        'the seed plus one': spelled(JSON.stringify({ ...chat, seed: 1 }).replace('"seed":1', '"seed":9007199254740993')),
      },
    },
  ],
  passing: [json(CHAT, chat), json('/v1/embeddings', chat, ...ANNA), { url: CHAT, method: 'GET', headers: ANNA }],
}
