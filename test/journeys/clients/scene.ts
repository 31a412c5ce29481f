// The scene of one row: a client, a network that can be cut, the gateway (or a bare proxy) and a backend.
import httpProxy from '@fastify/http-proxy'
import fastify from 'fastify'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { send } from '../../helpers/client.ts'
import { testGateway } from '../../helpers/gateway.ts'
import { TcpProxy } from '../../helpers/tcp-proxy.ts'
import { until } from '../../helpers/until.ts'
import { type Backend, type Form, startBackend } from './backend.ts'
import type { Client } from './client.ts'

export type Front = 'gateway' | 'bare proxy'

export interface Scene {
  readonly client: Client
  readonly backend: Backend
  /** Between client and gateway. */
  readonly network: TcpProxy
  readonly url: string
  /** Resolves when so many requests for the same have come, however many of them were executed. */
  readonly come: (n: number) => Promise<void>
  /** Resolves when the first execution has ended for whoever stands in front. */
  readonly settled: () => Promise<void>
  readonly close: () => Promise<void>
}

// Compiled, this file stands in build/test/journeys/clients.
const presets = fileURLToPath(new URL('../../../../config/presets/', import.meta.url))

/** `changed`: the preset's text as it is to be, where its word is not what the test is about. */
export async function setScene(client: Client, front: Front, form: Form, changed?: (preset: string) => string): Promise<Scene> {
  const backend = await startBackend(client.api, form)
  const before = front === 'gateway' ? await gatewayBefore(backend, client.guard, changed) : await bareProxyBefore(backend)
  const network = await TcpProxy.start(Number(new URL(before.url).port))
  return {
    client,
    backend,
    network,
    url: `http://127.0.0.1:${network.port}`,
    come: before.come,
    settled: before.settled,
    close: async () => {
      await network.stop()
      await Promise.all([before.close(), backend.close()])
    },
  }
}

type Before = Pick<Scene, 'url' | 'come' | 'settled' | 'close'>

async function gatewayBefore(backend: Backend, guard: Client['guard'], changed?: (preset: string) => string): Promise<Before> {
  const gateway = await testGateway({ upstream: backend.url, ...('preset' in guard ? including(guard.preset, changed) : guard) })
  const record = async (): Promise<{ status: string; duplicates: number }> => {
    const fingerprint = String(backend.executions[0]!.headers['idempotency-fingerprint'])
    return (await send(`${gateway.url}/status/${fingerprint}`, { method: 'GET' })).json()
  }
  return {
    url: gateway.url,
    come: async (n) => {
      // Where a guard fails they are executions of their own.
      await until(`${n} requests`, async () => backend.executions.length + (await record()).duplicates >= n, 10_000)
    },
    settled: () => until('the result is kept', async () => (await record()).status === 'completed', 10_000),
    close: () => gateway.close(),
  }
}

function including(preset: string, changed?: (preset: string) => string): { top: string } {
  const file = `${presets}${preset}.yaml`
  return { top: changed === undefined ? `include: ['${file}']` : changed(readFileSync(file, 'utf8')) }
}

async function bareProxyBefore(backend: Backend): Promise<Before> {
  const proxy = fastify({ forceCloseConnections: true })
  await proxy.register(httpProxy, { upstream: backend.url })
  return {
    url: await proxy.listen({ port: 0, host: '127.0.0.1' }),
    come: (n) => backend.runs(n),
    settled: () => Promise.resolve(),
    close: () => proxy.close(),
  }
}
