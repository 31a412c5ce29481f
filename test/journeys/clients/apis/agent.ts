// A fake A2A agent over JSON-RPC, in both versions of the protocol: one message, or a task and its artifact in pieces.
import { type Api, events, json, words } from '../api.ts'

const IDS = { contextId: 'context-1', taskId: 'task-1' }

export const agent: Api = {
  reply: ({ body }, text) => {
    const { id, method } = JSON.parse(body.toString()) as { id: number; method: string }
    const { answer, stream } = method.includes('/') ? before1(text) : since1(text)
    if (!/stream/i.test(method)) return json({ jsonrpc: '2.0', id, result: answer })
    return events(stream.map((result) => ({ data: { jsonrpc: '2.0', id, result } })))
  },
}

/** Version 1.0: what it is stands as the name of its member. */
function since1(text: string): { answer: object; stream: object[] } {
  const task = { id: IDS.taskId, contextId: IDS.contextId, status: { state: 'TASK_STATE_WORKING' } }
  return {
    answer: { message: { messageId: 'answer-1', role: 'ROLE_AGENT', parts: [{ text }] } },
    stream: [
      { task },
      ...words(text).map((word, n) => ({
        artifactUpdate: { ...IDS, artifact: { artifactId: 'artifact-1', parts: [{ text: word }] }, append: n > 0 },
      })),
      { statusUpdate: { ...IDS, status: { state: 'TASK_STATE_COMPLETED' } } },
    ],
  }
}

/** Version 0.3: what it is stands in `kind`. */
function before1(text: string): { answer: object; stream: object[] } {
  const part = (said: string) => ({ kind: 'text', text: said })
  return {
    answer: { kind: 'message', messageId: 'answer-1', role: 'agent', parts: [part(text)] },
    stream: [
      { kind: 'task', id: IDS.taskId, contextId: IDS.contextId, status: { state: 'working' } },
      ...words(text).map((word, n) => ({
        ...IDS,
        kind: 'artifact-update',
        artifact: { artifactId: 'artifact-1', parts: [part(word)] },
        append: n > 0,
      })),
      { ...IDS, kind: 'status-update', status: { state: 'completed' }, final: true },
    ],
  }
}
