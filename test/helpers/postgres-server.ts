// A real PostgreSQL server of a test's own: a fresh cluster on a free port, in a directory of its own, gone at the end.
import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { freePort } from './redis-server.ts'

const START_WITHIN_MS = 20_000
const STOP_WITHIN_MS = 10_000
/** What a test does not look at costs nothing; `start(['fsync=on'])` has it otherwise. */
const SETTINGS = ['fsync=off', 'full_page_writes=off', 'shared_buffers=16MB', 'max_connections=60', 'autovacuum=off']

/** PostgreSQL refuses to run as root. */
const USER: { uid?: number; gid?: number } = process.getuid?.() === 0 ? idsOf('postgres') : {}

function idsOf(name: string): { uid: number; gid: number } {
  const id = (option: string): number => Number(execFileSync('id', [option, name]).toString())
  return { uid: id('-u'), gid: id('-g') }
}

async function ownDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'oncegate-postgres-'))
  if (USER.uid !== undefined && USER.gid !== undefined) await chown(directory, USER.uid, USER.gid)
  return directory
}

function program(name: string): string {
  const root = '/usr/lib/postgresql'
  const versions = existsSync(root) ? readdirSync(root).toSorted((a, b) => Number(b) - Number(a)) : []
  return versions.map((version) => join(root, version, 'bin', name)).find(existsSync) ?? name
}

export class PostgresServer {
  readonly port: number
  readonly #directory: string
  readonly #settings: readonly string[]
  #process: ChildProcess | undefined
  #stopped: readonly number[] = []

  private constructor(port: number, directory: string, settings: readonly string[]) {
    this.port = port
    this.#directory = directory
    this.#settings = settings
  }

  /** `settings` as in `fsync=on`. */
  static async start(settings: readonly string[] = []): Promise<PostgresServer> {
    const server = await PostgresServer.prepare(settings)
    await server.restart()
    return server
  }

  /** A cluster with nothing running on it yet; `restart` brings the server up. */
  static async prepare(settings: readonly string[] = []): Promise<PostgresServer> {
    const directory = await ownDirectory()
    const options = ['--auth=trust', '--username=postgres', '--encoding=UTF8', '--locale=C', '--no-sync', '--no-instructions']
    await promisify(execFile)(program('initdb'), [...options, '-D', join(directory, 'data')], { ...USER, cwd: directory })
    return new PostgresServer(await freePort(), directory, settings)
  }

  /** A standby of this server, which follows it as `name` and has what it has. */
  async standby(name: string): Promise<PostgresServer> {
    const directory = await ownDirectory()
    const from = `host=127.0.0.1 port=${this.port} user=postgres application_name=${name}`
    const options = ['--write-recovery-conf', '--checkpoint=fast', '--no-sync', '--wal-method=stream']
    await promisify(execFile)(program('pg_basebackup'), [...options, '-d', from, '-D', join(directory, 'data')], {
      ...USER,
      cwd: directory,
    })
    const server = new PostgresServer(await freePort(), directory, this.#settings)
    await server.restart()
    return server
  }

  static #shared: Promise<PostgresServer> | undefined

  /** One for all tests of this process, gone with it: each takes a database of its own. */
  static shared(): Promise<PostgresServer> {
    return (PostgresServer.#shared ??= PostgresServer.start())
  }

  url(database = 'postgres', user = 'postgres'): string {
    return `postgres://${user}@127.0.0.1:${this.port}/${database}`
  }

  /** A new empty database. */
  async database(): Promise<{ url: string; name: string; drop: () => Promise<void> }> {
    const name = `test_${randomBytes(6).toString('hex')}`
    await this.sql(`CREATE DATABASE ${name}`)
    return { name, url: this.url(name), drop: () => this.sql(`DROP DATABASE ${name} WITH (FORCE)`).then(() => undefined) }
  }

  /** One statement on a connection of its own; its rows. */
  async sql<R extends object = Record<string, unknown>>(text: string, database = 'postgres', values: unknown[] = []): Promise<R[]> {
    const client = new Client(this.url(database))
    client.on('error', () => undefined)
    await client.connect()
    try {
      return (await client.query<R>(text, values)).rows
    } finally {
      await client.end()
    }
  }

  /** Ends the server, where it runs, and starts it on the same port and directory. */
  async restart(): Promise<void> {
    await this.#end('SIGINT')
    const settings = [...SETTINGS, `port=${this.port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', ...this.#settings]
    const args = ['-D', join(this.#directory, 'data'), ...settings.flatMap((setting) => ['-c', setting])]
    const child = spawn(program('postgres'), args, { ...USER, cwd: this.#directory, stdio: 'ignore' })
    child.unref()
    this.#process = child
    const orphaned = (): void => this.#abandon(child)
    process.once('exit', orphaned)
    child.once('close', () => process.off('exit', orphaned))
    const failed = new Promise<never>((_, reject) => {
      child.once('error', (error) => reject(new Error('postgres could not be started; is it installed?', { cause: error })))
      child.once('exit', (code) => reject(new Error(`postgres ended at once, code ${code}`)))
    })
    failed.catch(() => undefined)
    await Promise.race([this.#answers(), failed])
    child.removeAllListeners('exit')
  }

  /** The server stands still with all its processes: connections are open, new ones come about, and nothing is answered. */
  pause(): void {
    const { pid } = this.#process ?? {}
    if (pid === undefined) return
    // Its own first, so that no further ones come.
    process.kill(pid, 'SIGSTOP')
    const children = spawnSync('pgrep', ['-P', String(pid)])
      .stdout.toString()
      .trim()
      .split('\n')
      .map(Number)
    this.#stopped = [pid, ...children]
    for (const each of children) process.kill(each, 'SIGSTOP')
  }

  resume(): void {
    for (const each of this.#stopped.toReversed()) process.kill(each, 'SIGCONT')
    this.#stopped = []
  }

  /** Ends the server at once, as a crash would: it recovers at the next start. */
  async kill(): Promise<void> {
    await this.#end('SIGQUIT')
  }

  async stop(): Promise<void> {
    await this.#end('SIGQUIT')
    await rm(this.#directory, { recursive: true, force: true })
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    this.resume()
    const child = this.#process
    this.#process = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.ref()
    const ended = once(child, 'exit')
    child.kill(signal)
    const harder = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS)
    await ended
    clearTimeout(harder)
  }

  /** The test process ends: nothing can be waited for. */
  #abandon(child: ChildProcess): void {
    this.resume()
    child.kill('SIGQUIT')
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }

  async #answers(): Promise<void> {
    const endsAt = Date.now() + START_WITHIN_MS
    for (;;) {
      try {
        await this.sql('SELECT 1')
        return
      } catch (error) {
        if (Date.now() > endsAt) throw new Error(`postgres did not answer within ${START_WITHIN_MS} ms`, { cause: error })
      }
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}
