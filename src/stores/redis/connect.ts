// The one place that knows the Redis driver: a connection that comes back by itself, and never holds a call.
import { Redis } from 'ioredis'
import type { StoreOptions } from '../store-options.ts'
import { withDeadline } from '../deadline.ts'
import type { Script } from './script.ts'
import { ScriptCall, writeCommand, type Reply } from './script-call.ts'

export type { Reply }

const LONGEST_PAUSE_MS = 500

export class RedisConnection {
  readonly #client: Redis
  readonly #timeoutMs: number
  readonly #warn: (message: string) => void
  #troubled = false
  #gathering = false

  constructor(url: string, { timeoutMs, warn }: StoreOptions) {
    this.#timeoutMs = timeoutMs
    this.#warn = warn
    this.#client = new Redis(url, {
      lazyConnect: true,
      // No command may outlive its request: none is queued while the connection is away, none sent twice, and those
      // in flight when it breaks are refused at once.
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      autoResubscribe: false,
      connectTimeout: timeoutMs,
      // A silent connection is taken down, with the memory of whatever waits on it (also in mid-handshake).
      socketTimeout: timeoutMs,
      retryStrategy: (times) => Math.min(20 * 2 ** Math.min(times - 1, 10), LONGEST_PAUSE_MS),
    })
    this.#client.on('error', (error: Error) => this.#onError(error))
    this.#client.on('ready', () => this.#onReady())
  }

  /** Resolves when the server answers, or after the first failure; the connection goes on trying either way. */
  async connect(): Promise<void> {
    await withDeadline('connect', this.#timeoutMs, this.#client.connect()).catch(() => undefined)
  }

  /** Resolves when the connection is up; a call in `run` bounds the wait. */
  whenReady(): Promise<void> {
    if (this.ready) return Promise.resolve()
    return new Promise((resolve) => this.#client.once('ready', resolve))
  }

  get ready(): boolean {
    return this.#client.status === 'ready'
  }

  onReady(callback: () => void): void {
    this.#client.on('ready', callback)
  }

  onMessage(callback: (channel: string) => void): void {
    this.#client.on('message', callback)
  }

  /** One command, bounded by the gateway's own deadline, whatever the driver does. */
  run<T>(verb: string, command: (client: Redis) => Promise<T>): Promise<T> {
    return withDeadline(verb, this.#timeoutMs, command(this.#client).catch(withoutArguments))
  }

  /**
   * One script. Sent by its hash; where the server has forgotten it (restart, SCRIPT FLUSH), once more in full, which
   * no later flush can make fail.
   */
  script(verb: string, script: Script, keys: readonly string[], args: readonly (string | Buffer)[]): Promise<Reply> {
    const endsAt = performance.now() + this.#timeoutMs
    const answered = new Promise<Reply>((resolve, reject) => {
      const again = (error: Error): void => {
        // After the deadline the caller has been refused: what is sent now would be a claim of nobody's.
        if (!error.message.startsWith('NOSCRIPT') || performance.now() > endsAt) reject(error)
        else this.#send(new ScriptCall('eval', writeCommand(['eval', script.source], keys, args), { resolve, reject }))
      }
      this.#send(new ScriptCall('evalsha', writeCommand(['evalsha', script.sha], keys, args), { resolve, reject: again }))
    })
    return withDeadline(verb, this.#timeoutMs, answered)
  }

  /** Gives the connection up and takes another. */
  reconnect(): void {
    this.#client.disconnect(true)
  }

  close(): void {
    this.#client.disconnect()
  }

  #send(call: ScriptCall): void {
    this.#gather()
    void this.#client.sendCommand(call.asCommand())
  }

  /** What one turn of the event loop sends goes out in one write: under load that is one system call for many requests. */
  #gather(): void {
    const { stream } = this.#client
    if (this.#gathering || !this.ready) return
    this.#gathering = true
    stream.cork()
    setImmediate(() => {
      this.#gathering = false
      stream.uncork()
    })
  }

  #onError(error: Error): void {
    // Every further attempt fails alike; one line tells it.
    if (this.#troubled) return
    this.#troubled = true
    this.#warn(`Redis is out of reach, trying again: ${error.message}`)
  }

  #onReady(): void {
    if (!this.#troubled) return
    this.#troubled = false
    this.#warn('Redis is back')
  }
}

/** The driver's errors carry the command with its arguments: owners, digests and answers, which no log may show. */
function withoutArguments(error: unknown): never {
  throw new Error(error instanceof Error ? error.message : 'the Redis driver failed')
}
