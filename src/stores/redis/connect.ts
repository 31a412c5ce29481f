// The one place that knows the Redis driver: a connection that comes back by itself, and never holds a call.
import { Redis, type RedisOptions } from 'ioredis'
import type { StoreOptions } from '../store-options.ts'
import { withDeadline } from '../deadline.ts'
import { ReplicaAcks } from './replica-acks.ts'
import type { Script } from './script.ts'
import { ScriptCall, writeCommand, type Reply, type Settle } from './script-call.ts'

export type { Reply }

const LONGEST_PAUSE_MS = 500

/** Where a connection leads: a URL, what the driver is to be told, or an address that is asked for before each attempt. */
export type Destination = string | RedisOptions | (() => RedisOptions)

/** What a script's words are for, and whether its reply counts only once replicas have what it wrote. */
export interface ScriptRun {
  readonly script: Script
  readonly keys: readonly string[]
  readonly args: readonly (string | Buffer)[]
  readonly needsAck?: (reply: Reply) => boolean
}

export class RedisConnection {
  readonly #client: Redis
  readonly #timeoutMs: number
  readonly #warn: (message: string) => void
  readonly #acks: ReplicaAcks | undefined
  #troubled = false
  #gathering = false

  constructor(to: Destination, { timeoutMs, warn, replicasAck = 0 }: StoreOptions) {
    this.#timeoutMs = timeoutMs
    this.#warn = warn
    this.#client = newClient(to, {
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
      retryStrategy: (times) => {
        if (typeof to === 'function') Object.assign(this.#client.options, to())
        return Math.min(20 * 2 ** Math.min(times - 1, 10), LONGEST_PAUSE_MS)
      },
      // A master that has become a replica is left: its name, or Sentinel, may know another by now.
      reconnectOnError: (error) => READ_ONLY.test(error.message),
    })
    if (replicasAck > 0) this.#acks = new ReplicaAcks(replicasAck, timeoutMs, (replicas, ms) => this.#client.wait(replicas, ms))
    this.#client.on('error', (error: Error) => this.#onError(error))
    this.#client.on('ready', () => this.#onReady())
  }

  /** Resolves when the server answers, or after the first failure; the connection goes on trying either way. */
  async connect(): Promise<void> {
    await withDeadline('connect', this.#timeoutMs, this.#client.connect()).catch(() => undefined)
  }

  /** Resolves when the connection is up; whoever waits has a limit of his own. */
  whenReady(): Promise<void> {
    if (this.ready) return Promise.resolve()
    return new Promise((resolve) => this.#client.once('ready', resolve))
  }

  /** Where it leads now. */
  get host(): string {
    return this.#client.options.host ?? 'localhost'
  }

  get ready(): boolean {
    return this.#client.status === 'ready'
  }

  onReady(callback: () => void): void {
    this.#client.on('ready', callback)
  }

  /** Also after an attempt that came to nothing. */
  onClose(callback: () => void): void {
    this.#client.on('close', callback)
  }

  onMessage(callback: (channel: string) => void): void {
    this.#client.on('message', callback)
  }

  /** One command, bounded by the gateway's own deadline, whatever the driver does. */
  run<T>(verb: string, command: (client: Redis) => Promise<T>): Promise<T> {
    return withDeadline(verb, this.#timeoutMs, command(this.#client).catch(withoutArguments))
  }

  /** One script, bounded likewise. */
  script(verb: string, run: ScriptRun): Promise<Reply> {
    return withDeadline(verb, this.#timeoutMs, this.attempt(run, performance.now() + this.#timeoutMs))
  }

  /**
   * One script, for whoever has a deadline of his own. Sent by its hash; where the server has forgotten it (restart, SCRIPT FLUSH), once more
   * in full, which no later flush can make fail.
   */
  attempt({ script, keys, args, needsAck }: ScriptRun, endsAt: number): Promise<Reply> {
    return new Promise<Reply>((resolve, reject) => {
      const again = (error: Error): void => {
        // After the deadline the caller has been refused: what is sent now would be a claim of nobody's.
        if (!error.message.startsWith('NOSCRIPT') || performance.now() > endsAt) reject(error)
        else
          this.#send(new ScriptCall('eval', writeCommand(['eval', script.source], keys, args), this.#acked({ resolve, reject }, needsAck)))
      }
      const first = this.#acked({ resolve, reject }, needsAck)
      this.#send(new ScriptCall('evalsha', writeCommand(['evalsha', script.sha], keys, args), { resolve: first.resolve, reject: again }))
    })
  }

  /** Gives the connection up and takes another. */
  reconnect(): void {
    // In the midst of asking the sentinels the driver would take this for the end.
    if (this.ready) this.#client.disconnect(true)
  }

  masters(): readonly RedisConnection[] {
    return [this]
  }

  close(): void {
    this.#client.disconnect()
  }

  /** With replicas that have to acknowledge what the script writes; called in the turn that sends it. */
  #acked({ resolve, reject }: Settle, needsAck: ScriptRun['needsAck']): Settle {
    if (this.#acks === undefined || needsAck === undefined) return { resolve, reject }
    const acknowledged = this.#acks.join()
    return {
      resolve: (reply) => {
        if (needsAck(reply)) acknowledged.then(() => resolve(reply), reject)
        else resolve(reply)
      },
      reject,
    }
  }

  #send(call: ScriptCall): void {
    this.#gather()
    void this.#client.sendCommand(call.asCommand())
  }

  /** What one turn of the event loop sends goes out in one write: under load that is one system call for many requests. */
  #gather(): void {
    const { stream } = this.#client
    if (this.#gathering || !this.ready) {
      // Nothing is sent, and the driver says so to both.
      if (!this.ready) this.#acks?.flush()
      return
    }
    this.#gathering = true
    stream.cork()
    setImmediate(() => {
      this.#gathering = false
      this.#acks?.flush()
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

/** As a server says it, by itself and (before version 7) inside a script's error. */
const READ_ONLY = /(?:^|-)READONLY /

function newClient(to: Destination, settings: RedisOptions): Redis {
  if (typeof to === 'string') return new Redis(to, settings)
  return new Redis({ ...(typeof to === 'function' ? to() : to), ...settings })
}

/** The driver's errors carry the command with its arguments: owners, digests and answers, which no log may show. */
function withoutArguments(error: unknown): never {
  throw new Error(error instanceof Error ? error.message : 'the Redis driver failed')
}
