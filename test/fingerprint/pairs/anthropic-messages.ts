// A message to a model, on Anthropic's API: versions and betas count, what serves accounting does not.
import { json, text, type Kind } from './kind.ts'

const MESSAGES = '/v1/messages'
const KEY = ['X-Api-Key', 'k', 'Anthropic-Version', '2023-06-01']
const message = { model: 'claude', max_tokens: 1024, system: 'Be kind.', messages: [{ role: 'user', content: 'Guten Tag 👋' }] }

export const anthropicMessages: Kind = {
  name: 'message to a model (Anthropic)',
  preset: 'anthropic-messages',
  facts: [
    {
      request: json(MESSAGES, message, ...KEY),
      same: {
        'other field order': json(MESSAGES, { messages: message.messages, system: 'Be kind.', max_tokens: 1024, model: 'claude' }, ...KEY),
        'an emoji escaped': text(MESSAGES, JSON.stringify(message).replace('👋', String.raw`\ud83d\udc4b`), ...KEY),
        'a number with a fraction of nothing': text(MESSAGES, JSON.stringify(message).replace('1024', '1024.0'), ...KEY),
        'stream said to be false': json(MESSAGES, { ...message, stream: false }, ...KEY),
        'a user id for abuse reports': json(MESSAGES, { ...message, metadata: { user_id: 'u9' } }, ...KEY),
        'the second try': json(MESSAGES, message, ...KEY, 'X-Stainless-Retry-Count', '1', 'X-Stainless-Helper-Method', 'stream'),
        'headers in another order and case': json(
          MESSAGES,
          message,
          'anthropic-version',
          '2023-06-01',
          'x-api-key',
          'k',
          'User-Agent',
          'curl/8',
        ),
        'another request id': json(MESSAGES, message, ...KEY, 'X-Request-Id', 'q', 'Idempotency-Key', 'stainless-node-retry-1'),
      },
      different: {
        'another version of the API': json(MESSAGES, message, 'X-Api-Key', 'k', 'Anthropic-Version', '2024-01-01'),
        'a beta': json(MESSAGES, message, ...KEY, 'Anthropic-Beta', 'tools-2024'),
        'another key': json(MESSAGES, message, 'X-Api-Key', 'K', 'Anthropic-Version', '2023-06-01'),
        'the key as a bearer token': json(MESSAGES, message, 'Authorization', 'k', 'Anthropic-Version', '2023-06-01'),
        'without the system prompt': json(MESSAGES, { ...message, system: undefined }, ...KEY),
        'an empty system prompt': json(MESSAGES, { ...message, system: '' }, ...KEY),
        'another emoji': json(MESSAGES, { ...message, messages: [{ role: 'user', content: 'Guten Tag 👋🏽' }] }, ...KEY),
        streamed: json(MESSAGES, { ...message, stream: true }, ...KEY),
      },
    },
  ],
  passing: [json('/v1/messages/count_tokens', message, ...KEY), json(MESSAGES, message)],
}
