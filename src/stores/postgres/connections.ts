// The connections that the verbs share: each call is bounded, and none waits on behind its caller's back.
import { Pool, type PoolClient } from 'pg'
import { StoreUnavailable } from '../store.ts'
import type { PostgresAddress } from './address.ts'
import { serverGoes, withoutArguments } from './faults.ts'
import type { Statement } from './statements.ts'

/** A parameter as the driver takes it: bytes go as they are, everything else as text. */
export type Value = string | number | boolean | Buffer | null | readonly string[]

export class Connections {
  readonly #pool: Pool
  readonly #timeoutMs: number

  constructor({ config }: PostgresAddress, timeoutMs: number) {
    this.#timeoutMs = timeoutMs
    this.#pool = new Pool(config)
    // An idle connection that breaks is replaced when it is needed; one in use tells by its call.
    this.#pool.on('error', ignore)
    this.#pool.on('connect', (client) => client.on('error', ignore))
  }

  /**
   * One statement, and what it answers; `prepared` is waited for before. Rejects with StoreUnavailable when the server refuses, or
   * when the time is over: a statement that was not sent by then never is, and one that was keeps its connection as long again. Only
   * then is that given up: a server that is merely slow would have less time yet if it had to make new ones.
   */
  run<R extends object>(verb: string, statement: Statement, values: readonly Value[], prepared: Promise<void>): Promise<R[]> {
    return new Promise((resolve, reject) => {
      let client: PoolClient | undefined
      let over = false
      const end = (broken: boolean): void => {
        over = true
        clearTimeout(timer)
        client?.release(broken)
        client = undefined
      }
      let timer = setTimeout(() => {
        over = true
        timer = setTimeout(() => end(true), this.#timeoutMs)
        reject(new StoreUnavailable(verb, new Error(`no answer within ${this.#timeoutMs} ms`)))
      }, this.#timeoutMs)
      const work = async (): Promise<void> => {
        await prepared
        if (over) return
        const taken = await this.#pool.connect()
        client = taken
        if (over) return end(false)
        const { rows } = await client.query<R>({ ...statement, values: [...values] })
        if (over) return end(false)
        const fallen = isReadOnly(rows[0])
        end(fallen)
        if (fallen) throw new Error('the server is read-only: it is not the primary')
        resolve(rows)
      }
      work().catch((error: unknown) => {
        end(serverGoes(error))
        reject(new StoreUnavailable(verb, withoutArguments(error)))
      })
    })
  }

  /** Resolves when the last of them is closed. */
  async close(): Promise<void> {
    await this.#pool.end()
  }
}

/** A server that was the primary still answers reads, of what it had. */
function isReadOnly(row: object | undefined): boolean {
  return row !== undefined && 'read_only' in row && row.read_only === true
}

function ignore(): void {}
