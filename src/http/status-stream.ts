// The status page as an event stream: one `status` event per transition, until nothing more can happen.
import type { Gate } from '../idempotency/gate.ts'
import { waitWhile } from '../idempotency/wait.ts'
import { isInFlight, type RecordView } from '../model/record.ts'
import { StoreUnavailable } from '../stores/store.ts'
import type { Exchange } from './exchange.ts'

/** A comment this often tells a quiet stream from a dead one. One line end only: some clients take a second for an event. */
const HEARTBEAT_MS = 15_000

export function wantsEvents(exchange: Exchange): boolean {
  return /\btext\/event-stream\b/i.test(exchange.raw.headers.accept ?? '')
}

/** Ends with the event of a terminal status, or broken where the store stays away or the gateway stops. */
export async function streamStatus(
  gate: Gate,
  exchange: Exchange,
  first: RecordView,
  document: (record: RecordView) => object,
): Promise<number> {
  const { client } = exchange
  const headers = ['Content-Type', 'text/event-stream', 'Cache-Control', 'no-store', 'Idempotency-Fingerprint', first.fingerprint]
  client.head(200, [...headers, ...exchange.ownHeaders()])
  if (exchange.raw.method === 'HEAD') {
    client.end()
    return 200
  }
  let over = false
  const told = tell()
  gate.live.add({
    giveUp: () => {
      over = true
      client.break()
    },
    settled: told.then(nothing, nothing),
  })
  await told
  return 200

  async function tell(): Promise<void> {
    let shown = ''
    let record: RecordView | undefined = first
    while (record !== undefined && !client.gone && !over) {
      // Each attempt is a transition, and each status it comes to.
      const state: string = `${record.attempt} ${record.status}`
      if (state !== shown) client.write(Buffer.from(`event: status\ndata: ${JSON.stringify(document(record))}\n\n`))
      else client.write(Buffer.from(': hb\n'))
      shown = state
      if (!isInFlight(record.status)) break
      record = await next(record)
    }
    if (!over) client.end()
  }

  async function next({ status, attempt }: RecordView): Promise<RecordView | undefined> {
    try {
      const waiter = { limitMs: HEARTBEAT_MS, gone: () => client.gone || over, onGone: (wake: () => void) => client.onGone(wake) }
      return await waitWhile(gate.store, first.fingerprint, waiter, (record) => record.status === status && record.attempt === attempt)
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      over = true
      client.break()
      return undefined
    }
  }
}

function nothing(): void {}
