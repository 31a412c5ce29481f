// A tool that an agent calls over MCP: the tool and its arguments are the fact, not the call's number.
import { ANNA, BERT, json, text, type Kind } from './kind.ts'

const call = (id: number | string, args: object, more: object = {}): object => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'send_mail', arguments: args, ...more },
})
const mail = { to: 'a@example.com', subject: 'Offer', priority: 1, tags: ['x', 'y'] }
const fact = call(1, mail)

export const mcpToolsCall: Kind = {
  name: 'tool call (MCP)',
  preset: 'mcp-tools-call',
  facts: [
    {
      request: json('/mcp', fact, ...ANNA, 'Mcp-Session-Id', 's1'),
      same: {
        'another id of the call': json('/mcp', call(7, mail), ...ANNA, 'Mcp-Session-Id', 's1'),
        'an id that is a text': json('/mcp', call('1', mail), ...ANNA, 'Mcp-Session-Id', 's1'),
        'another session of the same caller': json('/mcp', fact, ...ANNA, 'Mcp-Session-Id', 's2'),
        'a progress token and a trace': json('/mcp', call(9, mail, { _meta: { progressToken: 9, traceparent: '00-1-2-01' } }), ...ANNA),
        'another version of the protocol': json('/mcp', fact, ...ANNA, 'Mcp-Protocol-Version', '2025-11-25', 'Accept', 'text/event-stream'),
        'arguments in another order': json(
          '/mcp',
          call(2, { tags: ['x', 'y'], priority: 1, subject: 'Offer', to: 'a@example.com' }),
          ...ANNA,
        ),
        'a number in another spelling': text('/mcp', JSON.stringify(call(2, mail)).replace('"priority":1', '"priority":1.0'), ...ANNA),
        'a slash at the end': json('/mcp/', call(3, mail), ...ANNA),
        'another agent program': json('/mcp', call(4, mail), 'User-Agent', 'agent/2', ...ANNA, 'Last-Event-Id', '5'),
      },
      different: {
        'another tool': json('/mcp', call(1, mail, { name: 'draft_mail' }), ...ANNA),
        'another addressee': json('/mcp', call(1, { ...mail, to: 'b@example.com' }), ...ANNA),
        'an argument more': json('/mcp', call(1, { ...mail, cc: 'b@example.com' }), ...ANNA),
        'an argument that is null': json('/mcp', call(1, { ...mail, cc: null }), ...ANNA),
        'a list in another order': json('/mcp', call(1, { ...mail, tags: ['y', 'x'] }), ...ANNA),
        'no arguments': json('/mcp', call(1, mail, { arguments: undefined }), ...ANNA),
        'another caller': json('/mcp', fact, ...BERT, 'Mcp-Session-Id', 's1'),
        'nobody but a session': json('/mcp', fact, 'Mcp-Session-Id', 's1'),
        'another server': json('/mcp/mail', fact, ...ANNA),
      },
    },
  ],
  passing: [
    json('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' }, ...ANNA),
    json('/mcp', { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} }, ...ANNA),
    json('/mcp', { jsonrpc: '2.0', method: 'notifications/initialized' }, ...ANNA),
    { url: '/mcp', method: 'DELETE', headers: ANNA },
  ],
}
