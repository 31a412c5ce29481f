// Starts a whole gateway inside the test, from YAML text, on free ports.
import { Writable } from 'node:stream'
import pino from 'pino'
import { loadConfig } from '../../src/config/load.ts'
import { type Gateway, startGateway } from '../../src/gateway.ts'
import { spoolSetting } from './spool-setting.ts'

export interface TestGateway extends Gateway {
  port: number
  /** Every log line so far, parsed. */
  log: Record<string, unknown>[]
  /** The rules of the file, from the next reload on, and what stands above them. */
  rewrite: (rules: string, top?: string) => void
}

/** `rules` is YAML; store, upstream and addresses are filled in. Memory store unless told otherwise. */
export async function testGateway(options: { upstream: string; rules?: string; top?: string; store?: string }): Promise<TestGateway> {
  const log: Record<string, unknown>[] = []
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      for (const line of chunk.toString().split('\n')) if (line !== '') log.push(JSON.parse(line) as Record<string, unknown>)
      done()
    },
  })
  const spool = spoolSetting(options.top ?? '')
  const textOf = (rules: string | undefined, top = ''): string => `${top}\n${spool}\n${rules === undefined ? '' : `rules:\n${rules}`}\n`
  let text = textOf(options.rules, options.top)
  const load = () =>
    loadConfig({
      text,
      env: {},
      overrides: { upstream: options.upstream, listen: '127.0.0.1:0', admin: '127.0.0.1:0', store: options.store ?? 'memory:' },
    })
  const gateway = await startGateway(load(), pino({ level: 'info' }, sink), { load })
  const rewrite = (rules: string, top = options.top): void => void (text = textOf(rules, top))
  return { ...gateway, port: Number(new URL(gateway.url).port), log, rewrite }
}
