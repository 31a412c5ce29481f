// A fake API that counts its executions and is as slow as the test wants it: one door before the answer, one in its middle.
import { once } from 'node:events'
import { latch, type Received, startUpstream } from '../../helpers/upstream.ts'
import { until } from '../../helpers/until.ts'
import { type Api, textOf } from './api.ts'

/** Answers come whole, in halves (with a door between them), or break off before their first byte. */
export type Form = 'whole' | 'in halves' | 'broken'

export interface Backend {
  readonly url: string
  /** Every request that executed something, in order. */
  readonly executions: readonly Received[]
  /** Resolves when the n-th execution (from 1) runs. */
  readonly runs: (n: number) => Promise<void>
  /** Lets answers begin: whole ones are whole then. */
  readonly begin: () => void
  /** Lets answers in halves end. */
  readonly finish: () => void
  readonly close: () => Promise<void>
}

export async function startBackend(api: Api, form: Form): Promise<Backend> {
  const executions: Received[] = []
  const beginning = latch()
  const middle = latch()
  const upstream = await startUpstream(async (request, response) => {
    if (api.aside?.(request, response) === true) return
    executions.push(request)
    const { type, body } = api.reply(request, textOf(executions.length))
    const bytes = Buffer.from(body)
    const half = Math.ceil(bytes.length / 2)
    await beginning.opened
    if (form === 'broken') {
      response.destroy()
      return
    }
    const length = form === 'whole' && type === 'application/json' ? { 'Content-Length': bytes.length } : {}
    response.writeHead(200, { 'Content-Type': type, ...length })
    response.write(bytes.subarray(0, half))
    if (form === 'in halves') await middle.opened
    response.end(bytes.subarray(half))
    await once(response, 'close')
  })
  return {
    url: upstream.url,
    executions,
    runs: (n) => until(`execution ${n}`, () => executions.length >= n, 10_000),
    begin: beginning.open,
    finish: middle.open,
    close: () => upstream.close(),
  }
}
