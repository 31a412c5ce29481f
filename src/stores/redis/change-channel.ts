// Tells watchers of settlings and pieces of logs, over one connection that only subscribes.
import { Watchers } from '../watchers.ts'
import type { RedisConnection } from './connect.ts'
import { fingerprintOf, changesChannel } from './keys.ts'

export class ChangeChannel {
  readonly #connection: RedisConnection
  readonly #watchers = new Watchers()
  readonly #heartbeat: NodeJS.Timeout

  constructor(connection: RedisConnection, timeoutMs: number) {
    this.#connection = connection
    connection.onMessage((channel) => this.#watchers.notify(fingerprintOf(channel)))
    connection.onReady(() => void this.#subscribeAgain())
    // A half-open connection is silent like a quiet one: only an unanswered PING tells them apart.
    this.#heartbeat = setInterval(() => void this.#beat(), timeoutMs).unref()
  }

  async watch(fingerprint: string, onChange: () => void): Promise<() => void> {
    const remove = this.#watchers.add(fingerprint, onChange)
    const stop = (): void => {
      remove()
      if (!this.#watchers.has(fingerprint)) this.#unsubscribe(fingerprint)
    }
    try {
      await this.#connection.run('watch', async (client) => {
        await this.#connection.whenReady()
        // Again for each watcher: the answer says that the subscription stands, whoever asked for it first.
        await client.subscribe(changesChannel(fingerprint))
      })
    } catch (error) {
      stop()
      throw error
    }
    return stop
  }

  close(): void {
    clearInterval(this.#heartbeat)
    this.#watchers.clear()
    this.#connection.close()
  }

  #unsubscribe(fingerprint: string): void {
    if (!this.#connection.ready) return
    this.#connection.run('watch', (client) => client.unsubscribe(changesChannel(fingerprint))).catch(() => undefined)
  }

  /** What has changed while the connection was away was told to nobody: let every watcher look. */
  async #subscribeAgain(): Promise<void> {
    const channels = this.#watchers.fingerprints().map(changesChannel)
    if (channels.length === 0) return
    try {
      await this.#connection.run('watch', (client) => client.subscribe(...channels))
      this.#watchers.notifyAll()
    } catch {
      this.#connection.reconnect()
    }
  }

  async #beat(): Promise<void> {
    if (this.#watchers.size === 0 || !this.#connection.ready) return
    await this.#connection.run('ping', (client) => client.ping()).catch(() => undefined)
  }
}
