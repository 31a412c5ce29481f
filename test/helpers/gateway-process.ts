// A gateway as a process of its own, on free ports: what tests kill, stop and shut down.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { spoolSetting } from './spool-setting.ts'
import { within } from './until.ts'

const START_WITHIN_MS = 40_000
const END_WITHIN_MS = 10_000

const program = fileURLToPath(new URL('../../src/main.js', import.meta.url))

export interface GatewayProcess {
  readonly url: string
  readonly adminUrl: string
  /** Every log line so far, parsed. */
  readonly log: Record<string, unknown>[]
  /** Resolves when the process has ended, by itself or not. */
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  /** The same, although its output may not have been read to the end. */
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  readonly pid: number
  signal(signal: NodeJS.Signals): void
  /** Its log is not read until the returned function is called. */
  stopReading(): () => void
  /** The process stands still: its connections are open, and nothing goes on. */
  pause(): void
  resume(): void
  /** kill -9. */
  kill(): Promise<void>
}

export interface ProcessOptions {
  readonly upstream: string
  readonly store: string
  readonly rules: string
  readonly top?: string
  /** Over the environment of the tests. */
  readonly env?: NodeJS.ProcessEnv
  /** Options of Node itself. */
  readonly nodeOptions?: readonly string[]
}

/** `rules` and `top` are YAML; the rest of the configuration is filled in. */
export async function gatewayProcess(options: ProcessOptions): Promise<GatewayProcess> {
  const directory = await mkdtemp(join(tmpdir(), 'oncegate-config-'))
  const file = join(directory, 'oncegate.yaml')
  const { upstream, store, rules, top = '' } = options
  await writeFile(
    file,
    `listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nupstream: ${upstream}\nstore: ${store}\n${top}\n${spoolSetting(top)}\nrules:\n${rules}\n`,
  )
  // As long as the gateway runs: it looks at its file.
  const gone = () => rm(directory, { recursive: true, force: true })
  try {
    const gateway = await startedProcess(['--config', file], options.env, options.nodeOptions)
    void gateway.ended.then(gone)
    return gateway
  } catch (error) {
    await gone()
    throw error
  }
}

/** `oncegate start` with these arguments, once it listens. It is killed when the test process ends. */
export async function startedProcess(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  nodeOptions: readonly string[] = [],
): Promise<GatewayProcess> {
  const child = spawn(process.execPath, [...nodeOptions, program, 'start', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  const whenEnded = async (event: 'close' | 'exit') => {
    const [code, signal] = (await once(child, event)) as [number | null, NodeJS.Signals | null]
    return { code, signal }
  }
  const [ended, exited] = [whenEnded('close'), whenEnded('exit')]
  const orphaned = (): void => void child.kill('SIGKILL')
  process.once('exit', orphaned)
  void ended.then(() => process.off('exit', orphaned))

  const log: Record<string, unknown>[] = []
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  const lines = createInterface(child.stdout)
  const listening = new Promise<Record<string, unknown>>((resolve) => {
    lines.on('line', (text) => {
      const line = JSON.parse(text) as Record<string, unknown>
      log.push(line)
      if (line.msg === 'listening') resolve(line)
    })
  })
  const failed = ended.then(({ code }) => {
    throw new Error(`the gateway ended at once, code ${String(code)}: ${errors}`)
  })
  let line: Record<string, unknown>
  try {
    line = await within('a gateway that listens', Promise.race([listening, failed]), START_WITHIN_MS)
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  } finally {
    failed.catch(() => undefined)
  }
  return {
    url: String(line.listen),
    adminUrl: String(line.admin),
    log,
    ended,
    exited,
    pid: child.pid!,
    signal: (signal) => void child.kill(signal),
    stopReading: () => {
      child.stdout.pause()
      return () => void child.stdout.resume()
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    kill: async () => {
      child.kill('SIGKILL')
      await within('the end of a killed gateway', ended, END_WITHIN_MS)
    },
  }
}
