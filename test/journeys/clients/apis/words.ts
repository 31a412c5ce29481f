// A plain API of server-sent events: numbered words, and an event that says it is done.
import { type Api, events, words as split } from '../api.ts'

export const words: Api = {
  reply: (_request, text) =>
    events([...split(text).map((data, n) => ({ id: n + 1, data: JSON.stringify(data) })), { event: 'done', data: '""' }]),
}
