// The A2A SDK's client over JSON-RPC, in both versions of the protocol.
import { type AgentCard, type Message, Role, type SendMessageRequest } from '@a2a-js/sdk'
import { createAuthenticatingFetchWithRetry, type Client as A2aClient, ClientFactory, JsonRpcTransportFactory } from '@a2a-js/sdk/client'
import { agent } from './apis/agent.ts'
import { AUTHORIZATION } from './apis/orders.ts'
import { type Client, joined, QUESTION, signalAfter } from './client.ts'

function connect(url: string, protocolVersion: string): Promise<A2aClient> {
  const fetchImpl = createAuthenticatingFetchWithRetry(fetch, {
    headers: async () => AUTHORIZATION,
    shouldRetryWithHeaders: async () => undefined,
  })
  const transport = new JsonRpcTransportFactory({ fetchImpl, legacyCompat: { enabled: protocolVersion === '0.3' } })
  const card: AgentCard = {
    name: 'agent',
    description: '',
    version: '1',
    supportedInterfaces: [{ url: `${url}/a2a`, protocolBinding: 'JSONRPC', tenant: '', protocolVersion }],
    provider: undefined,
    capabilities: { streaming: true, extensions: [] },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: [],
    defaultOutputModes: [],
    skills: [],
    signatures: [],
  }
  return new ClientFactory({ transports: [transport] }).createFromAgentCard(card)
}

/** Each click is a message with an id of its own. */
function message(): SendMessageRequest {
  const said: Message = {
    messageId: crypto.randomUUID(),
    contextId: 'context-1',
    taskId: '',
    role: Role.ROLE_USER,
    parts: [{ content: { $case: 'text', value: QUESTION }, metadata: undefined, filename: '', mediaType: '' }],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  }
  return { tenant: '', message: said, configuration: undefined, metadata: undefined }
}

const textOf = (parts: Message['parts']): string => parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('')

export const a2a: Client[] = ['1.0', '0.3'].flatMap((version): Client[] => [
  {
    name: `a2a ${version}`,
    api: agent,
    guard: { preset: 'a2a-message-send' },
    open: async (url, timeout) => {
      const client = await connect(url, version)
      return async () => {
        const answer = await client.sendMessage(message(), signalAfter(timeout))
        return 'parts' in answer ? textOf(answer.parts) : 'no message'
      }
    },
  },
  {
    name: `a2a ${version}, streamed`,
    api: agent,
    guard: { preset: 'a2a-message-send' },
    open: async (url, timeout) => {
      const client = await connect(url, version)
      return () =>
        joined(client.sendMessageStream(message(), signalAfter(timeout)), ({ payload }) =>
          payload?.$case === 'artifactUpdate' ? textOf(payload.value.artifact?.parts ?? []) : undefined,
        )
    },
  },
])
