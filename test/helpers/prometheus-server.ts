// A real Prometheus for tests, with the rules of deploy/prometheus, which scrapes what it is told to every quarter of a second.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { send } from './client.ts'
import { freePort } from './redis-server.ts'
import { readRepositoryFile } from './repository.ts'
import { until } from './until.ts'

export interface Sample {
  readonly metric: Readonly<Record<string, string>>
  readonly value: number
}

/** Runs promtool; fails with what it said. */
export function promtool(args: readonly string[], cwd: string): string {
  return execFileSync('promtool', args, { cwd, encoding: 'utf8' })
}

export class PrometheusServer {
  readonly #url: string
  readonly #directory: string
  readonly #process: ChildProcess

  private constructor(url: string, directory: string, child: ChildProcess) {
    this.#url = url
    this.#directory = directory
    this.#process = child
  }

  /** Scrapes `targets` (host:port) under the job, and with the rules, of the configuration that is shipped. */
  static async start(targets: readonly string[]): Promise<PrometheusServer> {
    const directory = await mkdtemp(join(tmpdir(), 'oncegate-prometheus-'))
    const shipped = parse(readRepositoryFile('deploy/prometheus/prometheus.yml')) as Shipped
    const [scrape] = shipped.scrape_configs
    const config = {
      ...shipped,
      global: { scrape_interval: '250ms', scrape_timeout: '250ms', evaluation_interval: '250ms' },
      scrape_configs: [{ job_name: scrape!.job_name, static_configs: [{ targets }] }],
    }
    await writeFile(join(directory, 'prometheus.yml'), stringify(config))
    for (const file of shipped.rule_files) await writeFile(join(directory, file), readRepositoryFile(`deploy/prometheus/${file}`))
    const address = `127.0.0.1:${await freePort()}`
    const args = [`--config.file=${join(directory, 'prometheus.yml')}`, `--storage.tsdb.path=${join(directory, 'data')}`]
    const child = spawn('prometheus', [...args, `--web.listen-address=${address}`, '--log.level=error'], { stdio: 'ignore' })
    const orphaned = (): void => void child.kill('SIGKILL')
    process.once('exit', orphaned)
    child.once('close', () => process.off('exit', orphaned))
    const server = new PrometheusServer(`http://${address}`, directory, child)
    await until('Prometheus is ready', () => server.#ready(), 20_000)
    return server
  }

  /** The instant vector; rejects with what Prometheus finds wrong. */
  async query(expression: string): Promise<Sample[]> {
    const { text } = await send(`${this.#url}/api/v1/query?query=${encodeURIComponent(expression)}`, { method: 'GET' })
    const { status, error, data } = JSON.parse(text) as { status: string; error?: string; data: { result: Found[] } }
    if (status !== 'success') throw new Error(`${expression}: ${error}`)
    return data.result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }))
  }

  async stop(): Promise<void> {
    const ended = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await ended
    await rm(this.#directory, { recursive: true, force: true })
  }

  async #ready(): Promise<boolean> {
    if (this.#process.exitCode !== null) throw new Error(`prometheus ended at once, code ${this.#process.exitCode}`)
    const answer = await send(`${this.#url}/-/ready`, { method: 'GET' }).catch(() => undefined)
    return answer?.status === 200
  }
}

interface Shipped {
  readonly rule_files: readonly string[]
  readonly scrape_configs: readonly { readonly job_name: string }[]
}

interface Found {
  readonly metric: Record<string, string>
  readonly value: [number, string]
}
