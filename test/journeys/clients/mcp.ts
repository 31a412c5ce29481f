// The MCP SDK's client over streamable HTTP.
import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { AUTHORIZATION } from './apis/orders.ts'
import { tools } from './apis/tools.ts'
import { type Call, type Client, QUESTION } from './client.ts'

const guard = { preset: 'mcp-tools-call' }

async function open(url: string, timeout: number | undefined, withProgress: boolean): Promise<Call> {
  const client = new McpClient({ name: 'table', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers: AUTHORIZATION } }))
  return async () => {
    let progress = 0
    const watched = withProgress ? { onprogress: () => void progress++ } : {}
    const call = { name: 'write', arguments: { what: QUESTION } }
    const { content } = await client.callTool(call, undefined, { ...watched, ...(timeout === undefined ? {} : { timeout }) })
    if (withProgress && progress !== 1) return `the progress was told ${progress} times`
    return (content as { text: string }[]).map(({ text }) => text).join('')
  }
}

export const mcp: Client[] = [
  { name: 'mcp', api: tools('json'), guard, open: (url, timeout) => open(url, timeout, false) },
  { name: 'mcp, streamed', api: tools('events'), guard, open: (url, timeout) => open(url, timeout, true), hangsWhenCut: true },
]
