// The scene of most journeys: a counting upstream with a gateway before it, both gone when the test has ended.
import type { Test } from 'tap'
import { type Answer, send, type SendOptions } from './client.ts'
import { testGateway, type TestGateway } from './gateway.ts'
import { type Handler, startUpstream, type TestUpstream } from './upstream.ts'

export interface Ask extends Omit<SendOptions, 'headers'> {
  /** Who asks, as `Authorization: Bearer <as>`; null: nobody. */
  as?: string | null
  /** `Idempotency-Key`, as it stands on the wire. */
  key?: string
  headers?: Record<string, string | string[]>
  /** JSON as text, where its spelling matters. */
  raw?: string
}

export interface Stage {
  gateway: TestGateway
  upstream: TestUpstream
  /** One request through the gateway: POST unless told otherwise. */
  ask: (path: string, options?: Ask) => Promise<Answer>
}

export async function stage(
  t: Test,
  options: { rules?: string; top?: string; store?: string; handler?: Handler; upstream?: TestUpstream },
): Promise<Stage> {
  const upstream = options.upstream ?? (await startUpstream(options.handler))
  if (options.upstream === undefined) t.teardown(() => upstream.close())
  const { rules, top, store } = options
  const gateway = await testGateway({
    upstream: upstream.url,
    ...(rules === undefined ? {} : { rules }),
    ...(top === undefined ? {} : { top }),
    ...(store === undefined ? {} : { store }),
  })
  t.teardown(() => gateway.close())
  return { gateway, upstream, ask: (path, asked = {}) => send(gateway.url + path, sendOptions(asked)) }
}

function sendOptions({ as = 'a', key, raw, headers, ...rest }: Ask): SendOptions {
  return {
    ...rest,
    ...(raw === undefined ? {} : { body: raw }),
    headers: {
      ...(as === null ? {} : { authorization: `Bearer ${as}` }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
      ...(raw === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
  }
}

export function replayed(answer: Answer): boolean {
  return answer.headers['idempotency-replayed'] === 'true'
}

export function fingerprintOf(answer: Answer): string {
  return String(answer.headers['idempotency-fingerprint'])
}
