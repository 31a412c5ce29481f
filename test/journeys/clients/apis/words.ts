// A plain API of server-sent events: words, numbered or not, and an event that says it is done.
import { type Api, events, words as split } from '../api.ts'

export function words(form: 'with ids' | 'without ids'): Api {
  const numbered = (n: number): { id?: number } => (form === 'with ids' ? { id: n + 1 } : {})
  return {
    reply: (_request, text) =>
      events([...split(text).map((data, n) => ({ ...numbered(n), data: JSON.stringify(data) })), { event: 'done', data: '""' }]),
  }
}
