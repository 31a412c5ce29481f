// A response with a place in a conversation: the same words later are another wish.
import { ANNA, BERT, json, text, type Kind } from './kind.ts'

const RESPONSES = '/v1/responses'
const response = {
  model: 'gpt-5',
  input: 'Summarise it.',
  previous_response_id: 'resp_1',
  tools: [{ type: 'web_search' }, { type: 'file_search' }],
}

export const openaiResponses: Kind = {
  name: 'response in a conversation (OpenAI)',
  preset: 'openai-responses',
  facts: [
    {
      request: json(RESPONSES, response, ...ANNA),
      same: {
        'other field order': json(RESPONSES, Object.fromEntries(Object.entries(response).toReversed()), ...ANNA),
        'white space': text(RESPONSES, `\n${JSON.stringify(response, null, 4)}\n`, ...ANNA),
        'defaults said': json(RESPONSES, { ...response, store: true, background: false, stream: false }, ...ANNA),
        'a third try': json(RESPONSES, response, ...ANNA, 'X-Stainless-Retry-Count', '2'),
        'more in the answer': json(RESPONSES, { ...response, include: ['file_search_call.results'] }, ...ANNA),
        'accounting and tracing': json(
          RESPONSES,
          { ...response, metadata: { trace: 't2' }, safety_identifier: 's' },
          ...ANNA,
          'X-Client-Request-Id',
          'c2',
        ),
        'another device': json(RESPONSES, response, 'User-Agent', 'phone', ...ANNA, 'Accept-Language', 'zh'),
      },
      different: {
        'another place in the conversation': json(RESPONSES, { ...response, previous_response_id: 'resp_2' }, ...ANNA),
        'no place in it': json(RESPONSES, { model: response.model, input: response.input, tools: response.tools }, ...ANNA),
        'other words': json(RESPONSES, { ...response, input: 'Summarise it' }, ...ANNA),
        'in the background': json(RESPONSES, { ...response, background: true }, ...ANNA),
        'not to be stored': json(RESPONSES, { ...response, store: false }, ...ANNA),
        'tools in another order': json(RESPONSES, { ...response, tools: response.tools.toReversed() }, ...ANNA),
        'another model': json(RESPONSES, { ...response, model: 'gpt-5-mini' }, ...ANNA),
        'another organization': json(RESPONSES, response, ...ANNA, 'OpenAI-Organization', 'org-2'),
        'another caller': json(RESPONSES, response, ...BERT),
      },
    },
  ],
}
