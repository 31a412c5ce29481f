// Amazon's Bedrock client over HTTP/1.1.
import { BedrockRuntimeClient, ConverseCommand, ConverseStreamCommand } from '@aws-sdk/client-bedrock-runtime'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import { converse } from './apis/converse.ts'
import { type Client, joined, QUESTION } from './client.ts'

// Node 20 is old to it, and it says so.
process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] = 'true'

const api = { api: converse, guard: { preset: 'bedrock-converse' } }

const INPUT = { modelId: 'test', messages: [{ role: 'user' as const, content: [{ text: QUESTION }] }] }

const sdk = (endpoint: string, timeout?: number): BedrockRuntimeClient =>
  new BedrockRuntimeClient({
    region: 'us-east-1',
    endpoint,
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    requestHandler: new NodeHttpHandler(timeout === undefined ? {} : { socketTimeout: timeout }),
  })

export const bedrock: Client[] = [
  {
    ...api,
    name: 'bedrock',
    open: (url, timeout) => {
      const client = sdk(url, timeout)
      return async () => (await client.send(new ConverseCommand(INPUT))).output?.message?.content?.[0]?.text ?? ''
    },
  },
  {
    ...api,
    name: 'bedrock, streamed',
    open: (url, timeout) => {
      const client = sdk(url, timeout)
      return async () => {
        const { stream } = await client.send(new ConverseStreamCommand(INPUT))
        return joined(stream!, (event) => event.contentBlockDelta?.delta?.text)
      }
    },
  },
]
