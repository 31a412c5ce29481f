// A fake MCP server over streamable HTTP with one tool, which answers in JSON or in events.
import { json as send } from '../../../helpers/upstream.ts'
import { type Api, events, json } from '../api.ts'

interface Call {
  id?: number
  method: string
  params: { protocolVersion?: string; _meta?: { progressToken?: number } }
}

export function tools(form: 'json' | 'events'): Api {
  return {
    aside: ({ method, body }, response) => {
      // It offers no stream of its own, and has no sessions to end.
      if (method !== 'POST') {
        response.writeHead(405).end()
        return true
      }
      const { id, method: called, params } = JSON.parse(body.toString()) as Call
      if (called === 'tools/call') return false
      if (id === undefined) response.writeHead(202).end()
      else {
        const serverInfo = { name: 'tools', version: '1' }
        send(response, 200, {
          jsonrpc: '2.0',
          id,
          result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo },
        })
      }
      return true
    },
    reply: ({ body }, text) => {
      const { id, params } = JSON.parse(body.toString()) as Call
      const answer = { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } }
      if (form === 'json') return json(answer)
      const progressToken = params._meta?.progressToken
      const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: 1, total: 2 } }
      return events([...(progressToken === undefined ? [] : [progress]), answer].map((data) => ({ event: 'message', data })))
    },
  }
}
