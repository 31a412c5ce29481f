// The store on one Redis server: each verb is one script and one round trip, on the server's clock.
import type { RecordView } from '../../model/record.ts'
import type { StoredResponse } from '../../model/stored-response.ts'
import type { StoreOptions } from '../store-options.ts'
import type { AcquireRequest, Claim, RenewRequest, SettleRequest, SettleResult, Store, TtlMs } from '../store.ts'
import { StoreUnavailable } from '../store.ts'
import { checkSettle } from '../transitions.ts'
import { warnOfForgetting } from './check-server.ts'
import type { Reply } from './connect.ts'
import { RedisConnection } from './connect.ts'
import { recordKeys } from './keys.ts'
import { readClaim, readRecord, readStored, writeAbout, writeHead } from './reply.ts'
import { loadScript } from './script.ts'
import { SettledChannel } from './settled-channel.ts'

const SECRET_KEY = 'oncegate:secret'
const NO_BODY = Buffer.alloc(0)

const acquireScript = loadScript('acquire')
const renewScript = loadScript('renew')
const settleScript = loadScript('settle')
const readScript = loadScript('read')

/** Also where the server is down: the store is then out of reach until it is up. */
export async function openRedisStore(url: string, options: StoreOptions): Promise<RedisStore> {
  const connection = new RedisConnection(url, options)
  // A subscriber takes no other commands; its warnings would repeat the first connection's.
  const subscriber = new RedisConnection(url, { ...options, warn: () => undefined })
  connection.whenReady().then(
    () => warnOfForgetting(connection, options.warn),
    () => undefined,
  )
  await Promise.all([connection.connect(), subscriber.connect()])
  return new RedisStore(connection, new SettledChannel(subscriber, options.timeoutMs))
}

export class RedisStore implements Store {
  readonly #connection: RedisConnection
  readonly #settled: SettledChannel

  constructor(connection: RedisConnection, settled: SettledChannel) {
    this.#connection = connection
    this.#settled = settled
  }

  async acquire(request: AcquireRequest): Promise<Claim> {
    const { fingerprint, aliases, executionId, digest, leaseMs, ttlMs, onFailed, onUnknown, onCompleted } = request
    const own = recordKeys(fingerprint)
    const keys = aliases === undefined ? own : [...own, ...aliases.flatMap(recordKeys)]
    const args = [executionId, digest, writeAbout(request), wholeMs(leaseMs), ttlText(ttlMs), onFailed, onUnknown, onCompleted]
    return readClaim(await this.#connection.script('acquire', acquireScript, keys, args), request)
  }

  async renew({ fingerprint, executionId, leaseMs, ttlMs }: RenewRequest): Promise<SettleResult> {
    const args = [executionId, wholeMs(leaseMs), ttlText(ttlMs)]
    return settleResult('renew', await this.#connection.script('renew', renewScript, recordKeys(fingerprint), args))
  }

  async settle(request: SettleRequest): Promise<SettleResult> {
    checkSettle(request)
    const { fingerprint, executionId, to, ttlMs, keepAtLeastMs, response } = request
    const answer = response === undefined ? ['', NO_BODY] : [writeHead(response.head), response.body]
    const args = [executionId, to, ttlText(ttlMs), wholeMs(keepAtLeastMs), ...answer]
    return settleResult('settle', await this.#connection.script('settle', settleScript, recordKeys(fingerprint), args))
  }

  async read(fingerprint: string): Promise<RecordView | undefined> {
    const reply = await this.#connection.script('read', readScript, recordKeys(fingerprint), [])
    return reply === null ? undefined : readRecord(fingerprint, reply).view
  }

  async readResponse(fingerprint: string): Promise<StoredResponse | undefined> {
    const [record] = recordKeys(fingerprint)
    const [head, body] = await this.#connection.run('readResponse', (client) => client.hmgetBuffer(record, 'head', 'body'))
    return readStored(head, body)
  }

  watch(fingerprint: string, onChange: () => void): Promise<() => void> {
    return this.#settled.watch(fingerprint, onChange)
  }

  async secret(candidate: string): Promise<string> {
    await this.#connection.run('secret', (client) => client.set(SECRET_KEY, candidate, 'NX'))
    const kept = await this.#connection.run('secret', (client) => client.get(SECRET_KEY))
    if (kept === null) throw new StoreUnavailable('secret', new Error('the secret was removed while it was being read'))
    return kept
  }

  async ping(): Promise<void> {
    await this.#connection.run('ping', (client) => client.ping())
  }

  async close(): Promise<void> {
    this.#settled.close()
    this.#connection.close()
  }
}

function settleResult(verb: string, reply: Reply): SettleResult {
  const word = String(reply)
  if (word !== 'ok' && word !== 'stale') throw new TypeError(`${verb} answered ${word}`)
  return word
}

function wholeMs(ms: number): string {
  return String(Math.ceil(ms))
}

function ttlText(ttlMs: TtlMs): string {
  return ttlMs === Infinity ? 'forever' : wholeMs(ttlMs)
}
