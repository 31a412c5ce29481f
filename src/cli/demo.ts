// `oncegate demo`: the demo agent alone, until it is ended.
import { startDemoAgent } from './demo-agent.ts'

export async function demo(options: { listen: string }): Promise<number | undefined> {
  const [, host, port] = /^(.*):(\d+)$/.exec(options.listen) ?? []
  if (host === undefined || Number(port) > 65_535) {
    process.stderr.write(`--listen takes host:port, not ${options.listen}\n`)
    return 2
  }
  const agent = await startDemoAgent({ host, port: Number(port) })
  process.stdout.write(`the demo agent listens on ${agent.url}\n`)
  return undefined
}
