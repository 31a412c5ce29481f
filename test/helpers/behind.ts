// A gateway before a counting upstream, both gone when the test ends.
import { type TestGateway, testGateway } from './gateway.ts'
import { type Handler, startRawUpstream, startUpstream, type TestUpstream } from './upstream.ts'

interface Ending {
  teardown: (handler: () => Promise<void>) => unknown
}

export interface Setting {
  /** YAML. */
  rules?: string
  top?: string
  store?: string
}

/** Guards every POST, PUT and PATCH that has a key; nothing else. */
export const KEYED = `
  - name: keyed
    match: { methods: [POST, PUT, PATCH], path: /* }
    fingerprint: { key: header.idempotency-key }
`

export async function behind(
  t: Ending,
  setting: Setting & { handler?: Handler } = {},
): Promise<{ gateway: TestGateway; upstream: TestUpstream }> {
  const upstream = await startUpstream(setting.handler)
  const gateway = await testGateway({ rules: KEYED, ...setting, upstream: upstream.url })
  t.teardown(async () => {
    await Promise.all([gateway.close(), upstream.close()])
  })
  return { gateway, upstream }
}

/** The same before an upstream that writes its bytes by itself. */
export async function behindRaw(t: Ending, answer: Parameters<typeof startRawUpstream>[0], setting: Setting = {}) {
  const upstream = await startRawUpstream(answer)
  const gateway = await testGateway({ rules: KEYED, ...setting, upstream: upstream.url })
  t.teardown(async () => {
    await Promise.all([gateway.close(), upstream.close()])
  })
  return { gateway, upstream }
}

/** Headers of one owner with that key, and further ones. */
export function key(name: string, more: Record<string, string | string[]> = {}): Record<string, string | string[]> {
  return { authorization: 'Bearer a', 'idempotency-key': name, ...more }
}
