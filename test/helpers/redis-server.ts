// A real Redis server of a test's own: on a free port, in a directory of its own, gone at the end.
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const START_WITHIN_MS = 10_000
const STOP_WITHIN_MS = 5000

export class RedisServer {
  readonly port: number
  readonly #directory: string
  readonly #arguments: readonly string[]
  #process: ChildProcess | undefined

  private constructor(port: number, directory: string, words: readonly string[]) {
    this.port = port
    this.#directory = directory
    this.#arguments = words
  }

  /** A server that keeps its appends on disk, unless the settings (`['--appendonly', 'no']`) say otherwise. */
  static async start(settings: readonly string[] = []): Promise<RedisServer> {
    for (let tries = 1; ; tries++) {
      const server = await RedisServer.prepare(settings)
      try {
        await server.restart()
        return server
      } catch (error) {
        // Another test may have taken the port that was free.
        if (tries === 3) throw error
      }
    }
  }

  /** A free port with nothing on it yet; `restart` brings the server up. */
  static async prepare(settings: readonly string[] = []): Promise<RedisServer> {
    const port = await freePort()
    const directory = await mkdtemp(join(tmpdir(), 'oncegate-redis-'))
    const fixed = ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory, '--daemonize', 'no']
    return new RedisServer(port, directory, [...fixed, '--save', '', '--appendonly', 'yes', ...settings])
  }

  /** A sentinel, with these lines in its file; `restart` brings it up. */
  static async prepareSentinel(lines: (port: number) => readonly string[]): Promise<RedisServer> {
    const port = await freePort()
    const directory = await mkdtemp(join(tmpdir(), 'oncegate-sentinel-'))
    const file = join(directory, 'sentinel.conf')
    await writeFile(file, [`port ${port}`, 'bind 127.0.0.1', `dir ${directory}`, ...lines(port), ''].join('\n'))
    return new RedisServer(port, directory, [file, '--sentinel'])
  }

  get pid(): number | undefined {
    return this.#process?.pid
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  /** Ends the server, where it runs, and starts it on the same port and directory. */
  async restart(): Promise<void> {
    await this.#end('SIGTERM')
    const child = spawn('redis-server', this.#arguments, { stdio: 'ignore' })
    this.#process = child
    const orphaned = (): void => void child.kill('SIGKILL')
    process.once('exit', orphaned)
    child.once('close', () => process.off('exit', orphaned))
    const failed = new Promise<never>((_, reject) => {
      child.once('error', (error) => reject(new Error('redis-server could not be started; is it installed?', { cause: error })))
      child.once('exit', (code) => reject(new Error(`redis-server ended at once, code ${code}`)))
    })
    failed.catch(() => undefined)
    await Promise.race([this.#answers(), failed])
    child.removeAllListeners('exit')
  }

  /** The server stands still: its connections are open, and nothing is answered. */
  pause(): void {
    this.#process?.kill('SIGSTOP')
  }

  resume(): void {
    this.#process?.kill('SIGCONT')
  }

  /** Ends the server as a power cut would. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  async stop(): Promise<void> {
    await this.#end('SIGTERM')
    await rm(this.#directory, { recursive: true, force: true })
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process
    this.#process = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGCONT')
    child.kill(signal)
    const harder = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS)
    await ended
    clearTimeout(harder)
  }

  async #answers(): Promise<void> {
    const endsAt = Date.now() + START_WITHIN_MS
    while (!(await answersPing(this.port))) {
      if (Date.now() > endsAt) throw new Error(`redis-server did not answer within ${START_WITHIN_MS} ms`)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
}

/**
 * A port that nobody listens on, from below the range that outgoing connections take theirs from: one of those could
 * have it by the time a server is started, or started again.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 50; tries++) {
    const port = randomInt(20_000, 32_000)
    const server = createServer()
    const free = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
    })
    if (free) return port
  }
  throw new Error('no free port')
}

function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'))
    const end = (answer: boolean): void => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('data', (data) => end(data.toString().startsWith('+PONG')))
    socket.once('error', () => end(false))
    socket.setTimeout(1000, () => end(false))
  })
}
