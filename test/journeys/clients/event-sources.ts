// Clients of server-sent events that come again by themselves: @microsoft/fetch-event-source with a POST, EventSource with a GET.
import { fetchEventSource } from '@microsoft/fetch-event-source'
import { EventSource } from 'eventsource'
import { AUTHORIZATION } from './apis/orders.ts'
import { words } from './apis/words.ts'
import { type Client, QUESTION } from './client.ts'

// This client takes an id for seen when it has read its line, even if the rest of the event never comes. Ids that the gateway gives stand
// behind the data, so that nothing is missed.
const BY_POST = `
  - name: words
    match: { path: /words }
    fingerprint: { what: body.what }
    inFlight: { answer: attach }
    streamIds: true
`

// An EventSource sends no headers of its application's.
const BY_GET = `
  - name: words
    match: { methods: [GET], path: /words }
    owner: ip
    fingerprint: { what: query.what }
    inFlight: { answer: attach }
`

/** Written for pages: it looks for a window to have timers and fetch, and for a document to be hidden. */
function page(): void {
  const { setTimeout, clearTimeout, fetch } = globalThis
  Object.assign(globalThis, { window: { setTimeout, clearTimeout, fetch }, document: Object.assign(new EventTarget(), { hidden: false }) })
}

export const eventSources: Client[] = [
  {
    name: 'fetch-event-source',
    api: words('without ids'),
    guard: { rules: BY_POST },
    showsNoReason: true,
    neverGivesUp: true,
    open: (url, timeout) => async () => {
      page()
      let text = ''
      let done = false
      const left = new AbortController()
      const timer = timeout === undefined ? undefined : setTimeout(() => left.abort(), timeout)
      await fetchEventSource(`${url}/words`, {
        method: 'POST',
        headers: { ...AUTHORIZATION, 'content-type': 'application/json' },
        body: JSON.stringify({ what: QUESTION }),
        signal: left.signal,
        onmessage: ({ event, data }) => {
          done ||= event === 'done'
          text += JSON.parse(data) as string
        },
      })
      clearTimeout(timer)
      // A call that was given up resolves as well.
      if (!done) throw new Error('not done')
      return text
    },
  },
  {
    name: 'eventsource',
    api: words('with ids'),
    guard: { rules: BY_GET },
    showsNoReason: true,
    open: (url, timeout) => () =>
      new Promise((resolve, reject) => {
        let text = ''
        const source = new EventSource(`${url}/words?what=${encodeURIComponent(QUESTION)}`)
        const end = (): void => {
          clearTimeout(timer)
          source.close()
        }
        const giveUp = (): void => {
          end()
          reject(new Error('timed out'))
        }
        const timer = timeout === undefined ? undefined : setTimeout(giveUp, timeout)
        source.addEventListener('message', ({ data }) => (text += JSON.parse(data) as string))
        source.addEventListener('done', () => {
          end()
          resolve(text)
        })
        source.addEventListener('error', () => {
          // It comes again by itself, but not after an answer that is no stream.
          if (source.readyState !== source.CLOSED) return
          end()
          reject(new Error('refused'))
        })
      }),
  },
]
