// A conversation with a model on Amazon Bedrock: each try is signed anew, the wish is the model and the body.
import { json, text, type Kind } from './kind.ts'

const signed = (key: string, date: string, signature: string): string[] => [
  'Authorization',
  `AWS4-HMAC-SHA256 Credential=${key}/${date.slice(0, 8)}/us-east-1/bedrock/aws4_request, SignedHeaders=host;x-amz-date, Signature=${signature}`,
  'X-Amz-Date',
  date,
]
const FIRST = signed('AKIA1', '20240520T235959Z', 'aa')
const converse = { messages: [{ role: 'user', content: [{ text: 'hi' }] }], inferenceConfig: { temperature: 0.5, maxTokens: 9 } }
const PATH = '/model/anthropic.claude-3-haiku:0/converse'

export const bedrockConverse: Kind = {
  name: 'conversation with a model (Bedrock)',
  preset: 'bedrock-converse',
  facts: [
    {
      request: json(PATH, converse, ...FIRST),
      same: {
        'signed anew, a second later': json(
          PATH,
          converse,
          ...signed('AKIA1', '20240520T235959Z', 'bb'),
          'Amz-Sdk-Request',
          'attempt=2; max=3',
        ),
        'signed anew, on the next day': json(PATH, converse, ...signed('AKIA1', '20240521T000001Z', 'cc')),
        'another invocation': json(PATH, converse, ...FIRST, 'Amz-Sdk-Invocation-Id', 'i2', 'User-Agent', 'Boto3/1.43'),
        'other field order': json(PATH, { inferenceConfig: { maxTokens: 9, temperature: 0.5 }, messages: converse.messages }, ...FIRST),
        'numbers in another spelling': text(PATH, JSON.stringify(converse).replace('0.5', '0.50').replace(':9', ':9e0'), ...FIRST),
        'metadata for logs': json(PATH, { ...converse, requestMetadata: { try: '2' } }, ...FIRST),
        'the model escaped': json('/model/anthropic.claude-3-haiku%3A0/converse', converse, ...FIRST),
      },
      different: {
        'another access key': json(PATH, converse, ...signed('AKIA2', '20240520T235959Z', 'aa')),
        'an access key that goes on': json(PATH, converse, ...signed('AKIA11', '20240520T235959Z', 'aa')),
        'temporary credentials': json(PATH, converse, ...FIRST, 'X-Amz-Security-Token', 't'),
        'a bearer token': json(PATH, converse, 'Authorization', 'Bearer AKIA1'),
        'another version of the model': json('/model/anthropic.claude-3-haiku:1/converse', converse, ...FIRST),
        streamed: json(`${PATH}-stream`, converse, ...FIRST),
        longer: json(PATH, { ...converse, inferenceConfig: { ...converse.inferenceConfig, maxTokens: 10 } }, ...FIRST),
        'other words': json(PATH, { ...converse, messages: [{ role: 'user', content: [{ text: 'Hi' }] }] }, ...FIRST),
      },
    },
  ],
  passing: [json(PATH, converse), json('/model/nova/count-tokens', converse, ...FIRST)],
}
