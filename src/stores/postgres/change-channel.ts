// Tells watchers of settlings and pieces of logs, over one connection that listens, and tells the other gateways of our own.
import { Client, escapeIdentifier } from 'pg'
import { setTimeout as pause } from 'node:timers/promises'
import { withDeadline } from '../deadline.ts'
import type { StoreOptions } from '../store-options.ts'
import { Watchers } from '../watchers.ts'
import type { PostgresAddress } from './address.ts'
import { withoutArguments } from './faults.ts'

const FIRST_PAUSE_MS = 20
const LONGEST_PAUSE_MS = 500
/** A notification holds just under 8000 bytes. */
const NAMES_A_MESSAGE = 100
/** Beyond so many names that could not be sent, the others are told to look at everything. */
const MOST_PENDING = 10_000
const EVERYTHING = '*'
/** Without names it is a question whether the connection lives. */
const TELL = { name: 'oncegate_tell', text: 'SELECT count(pg_notify($1, names)) FROM unnest($2::text[]) AS names' }

export class ChangeChannel {
  readonly #address: PostgresAddress
  readonly #options: StoreOptions
  readonly #watchers = new Watchers()
  readonly #heartbeat: NodeJS.Timeout
  /** Fingerprints that the other gateways have not been told of yet. */
  #pending = new Set<string>()
  /** Who waits for a sign that the connection listens. */
  #asking: (() => void)[] = []
  /** Only while it listens. */
  #client: Client | undefined
  #channel = ''
  #talking: Promise<void> | undefined
  #troubled = false
  #closed = false

  constructor(address: PostgresAddress, options: StoreOptions) {
    this.#address = address
    this.#options = options
    // A half-open connection is silent like a quiet one: only an unanswered question tells them apart.
    this.#heartbeat = setInterval(() => {
      if (this.#watchers.size > 0) void this.#confirmed()
    }, options.timeoutMs).unref()
    void this.#listen()
  }

  /** Resolves when the server has answered, on the connection that listens, after this was called. */
  async watch(fingerprint: string, onChange: () => void): Promise<() => void> {
    const remove = this.#watchers.add(fingerprint, onChange)
    try {
      await withDeadline('watch', this.#options.timeoutMs, this.#confirmed())
    } catch (error) {
      remove()
      throw error
    }
    return remove
  }

  /**
   * To be called after the commit, not before. NOTIFY inside the transaction would let only one settling at a time reach the disk,
   * in the whole database; this way many of them share one message. Who waits elsewhere and is not told, since this gateway died
   * at this very point, looks by itself before long.
   */
  changed(fingerprint: string): void {
    this.#watchers.notify(fingerprint)
    if (this.#pending.size < MOST_PENDING) this.#pending.add(fingerprint)
    else this.#pending = new Set([EVERYTHING])
    this.#talk()
  }

  /** What there is to tell is told first, if that can be done in time. */
  async close(): Promise<void> {
    clearInterval(this.#heartbeat)
    this.#watchers.clear()
    this.#talk()
    await withDeadline('close', this.#options.timeoutMs, this.#talking ?? Promise.resolve()).catch(() => undefined)
    this.#closed = true
    this.#lose(this.#client)
  }

  #confirmed(): Promise<void> {
    return new Promise((resolve) => {
      this.#asking.push(resolve)
      this.#talk()
    })
  }

  #talk(): void {
    if (this.#client === undefined || this.#talking !== undefined) return
    this.#talking = this.#tellAll(this.#client).finally(() => (this.#talking = undefined))
  }

  /** One statement at a time; what comes meanwhile goes with the next. */
  async #tellAll(client: Client): Promise<void> {
    while (this.#client === client && this.#pending.size + this.#asking.length > 0) {
      const [names, asking] = [this.#pending, this.#asking]
      this.#pending = new Set()
      this.#asking = []
      try {
        await this.#bounded(client.query({ ...TELL, values: [this.#channel, messagesOf([...names])] }))
        for (const answer of asking) answer()
      } catch {
        for (const name of names) this.#pending.add(name)
        this.#asking.push(...asking)
        this.#lose(client)
      }
    }
  }

  /** Until the store is closed; a connection that ends is followed by another. */
  async #listen(): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS
    while (!this.#closed) {
      const client = new Client(this.#address.config)
      const ended = new Promise<void>((resolve) => client.once('end', resolve))
      client.on('error', () => this.#lose(client))
      client.on('notification', ({ payload = '', processId }) => this.#heard(payload, processId === backendOf(client)))
      try {
        await client.connect()
        await this.#bounded(this.#subscribe(client))
        if (!this.#closed) {
          this.#onReady(client)
          pauseMs = FIRST_PAUSE_MS
          await ended
        }
      } catch (error) {
        this.#onTrouble(error)
      }
      this.#lose(client)
      await pause(pauseMs, undefined, { ref: false })
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
    }
  }

  async #subscribe(client: Client): Promise<void> {
    const { rows } = await client.query<{ schema: string | null }>({ name: 'schema', text: 'SELECT current_schema() AS schema' })
    this.#channel = `oncegate ${rows[0]?.schema ?? this.#address.schema}`.slice(0, 63)
    await client.query(`LISTEN ${escapeIdentifier(this.#channel)}`)
  }

  #heard(payload: string, ownVoice: boolean): void {
    // Our own watchers were told at once.
    if (ownVoice) return
    if (payload === EVERYTHING) this.#watchers.notifyAll()
    else for (const fingerprint of payload.split(' ')) this.#watchers.notify(fingerprint)
  }

  #onReady(client: Client): void {
    this.#client = client
    if (this.#troubled) this.#options.warn('PostgreSQL is back')
    this.#troubled = false
    this.#talk()
    // What has changed while the connection was away was told to nobody: let every watcher look.
    this.#watchers.notifyAll()
  }

  #onTrouble(error: unknown): void {
    // Every further attempt fails alike; one line tells it.
    if (this.#troubled || this.#closed) return
    this.#troubled = true
    this.#options.warn(`PostgreSQL is out of reach, trying again: ${withoutArguments(error).message}`)
  }

  #lose(client: Client | undefined): void {
    if (this.#client === client) this.#client = undefined
    client?.connection.stream.destroy()
  }

  #bounded<T>(work: Promise<T>): Promise<T> {
    return withDeadline('listen', this.#options.timeoutMs, work)
  }
}

function messagesOf(names: readonly string[]): string[] {
  const messages: string[] = []
  for (let n = 0; n < names.length; n += NAMES_A_MESSAGE) messages.push(names.slice(n, n + NAMES_A_MESSAGE).join(' '))
  return messages
}

/** The driver knows it, and its types do not say so. */
function backendOf(client: Client): unknown {
  return 'processID' in client ? client.processID : undefined
}
