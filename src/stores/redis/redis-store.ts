// The store on one Redis server: each verb is one script and one round trip, on the server's clock.
import type { RecordView } from '../../model/record.ts'
import type { KeptResponse } from '../../model/stored-response.ts'
import type { StoreOptions } from '../store-options.ts'
import type {
  AcquireRequest,
  AppendRequest,
  Claim,
  ExecutionName,
  LogReading,
  LogRequest,
  RenewRequest,
  SettleRequest,
  SettleResult,
  Store,
  TtlMs,
} from '../store.ts'
import { INLINE_BYTES, StoreUnavailable } from '../store.ts'
import { checkSettle } from '../transitions.ts'
import { ChangeChannel } from './change-channel.ts'
import { warnOfForgetting } from './check-server.ts'
import type { Reply } from './connect.ts'
import { RedisConnection } from './connect.ts'
import { recordKeys } from './keys.ts'
import { oneOf, readClaim, readLogReading, readRecord, readStored, text, writeAbout, writeAnswerHead, writeHead } from './reply.ts'
import { loadScript } from './script.ts'

const SECRET_KEY = 'oncegate:secret'
const NOTHING = Buffer.alloc(0)

const acquireScript = loadScript('acquire')
const renewScript = loadScript('renew')
const settleScript = loadScript('settle')
const appendScript = loadScript('append')
const cancelScript = loadScript('cancel')
const readScript = loadScript('read')
const readLogScript = loadScript('read-log')

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
  return new RedisStore(connection, new ChangeChannel(subscriber, options.timeoutMs))
}

export class RedisStore implements Store {
  readonly #connection: RedisConnection
  readonly #changes: ChangeChannel

  constructor(connection: RedisConnection, changes: ChangeChannel) {
    this.#connection = connection
    this.#changes = changes
  }

  async acquire(request: AcquireRequest): Promise<Claim> {
    const { fingerprint, aliases, executionId, digest, leaseMs, ttlMs, onFailed, onUnknown, onCompleted } = request
    const own = recordKeys(fingerprint)
    const keys = aliases === undefined ? own : [...own, ...aliases.flatMap(recordKeys)]
    const args = [executionId, digest, writeAbout(request), wholeMs(leaseMs), ttlText(ttlMs), onFailed, onUnknown, onCompleted]
    return readClaim(await this.#connection.script('acquire', acquireScript, keys, args), request)
  }

  async renew({ fingerprint, executionId, leaseMs, ttlMs }: RenewRequest): Promise<SettleResult | 'cancelled'> {
    const args = [executionId, wholeMs(leaseMs), ttlText(ttlMs)]
    const reply = await this.#connection.script('renew', renewScript, recordKeys(fingerprint), args)
    return oneOf<SettleResult | 'cancelled'>(text(reply), ['ok', 'stale', 'cancelled'])
  }

  async settle(request: SettleRequest): Promise<SettleResult> {
    checkSettle(request)
    const { fingerprint, executionId, to, ttlMs, keepAtLeastMs } = request
    const args = [executionId, to, ttlText(ttlMs), wholeMs(keepAtLeastMs), ...answerOf(request)]
    return settleResult(await this.#connection.script('settle', settleScript, recordKeys(fingerprint), args))
  }

  async append({ fingerprint, executionId, offset, chunk, head, overflow }: AppendRequest): Promise<SettleResult> {
    const headText = head === undefined ? '' : writeAnswerHead(head)
    const args = [executionId, String(offset), chunk, headText, overflow === true ? 'overflow' : '']
    return settleResult(await this.#connection.script('append', appendScript, recordKeys(fingerprint), args))
  }

  async cancel({ fingerprint, executionId }: ExecutionName): Promise<SettleResult> {
    return settleResult(await this.#connection.script('cancel', cancelScript, recordKeys(fingerprint), [executionId]))
  }

  async readLog({ fingerprint, executionId, offset, maxBytes }: LogRequest): Promise<LogReading> {
    const args = [executionId, String(offset), String(maxBytes)]
    return readLogReading(fingerprint, await this.#connection.script('readLog', readLogScript, recordKeys(fingerprint), args))
  }

  async read(fingerprint: string): Promise<RecordView | undefined> {
    const reply = await this.#connection.script('read', readScript, recordKeys(fingerprint), [])
    return reply === null ? undefined : readRecord(fingerprint, reply)
  }

  async readResponse(fingerprint: string): Promise<KeptResponse | undefined> {
    const reply = await this.#connection.script('readResponse', readScript, recordKeys(fingerprint), ['body'])
    return reply === null ? undefined : readStored(reply)
  }

  watch(fingerprint: string, onChange: () => void): Promise<() => void> {
    return this.#changes.watch(fingerprint, onChange)
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
    this.#changes.close()
    this.#connection.close()
  }
}

/** The last of settle.lua's arguments. */
function answerOf({ response, logged = 0 }: SettleRequest): (string | Buffer)[] {
  if (response === undefined) return ['', NOTHING]
  const { head, body } = response
  if (!head.bodyStored) return [writeHead(head), NOTHING]
  const large = logged + body.length > INLINE_BYTES
  return [writeHead(head), body, ...(logged > 0 || large ? [String(logged), large ? 'log' : 'body'] : [])]
}

function settleResult(reply: Reply): SettleResult {
  return oneOf(text(reply), ['ok', 'stale'])
}

function wholeMs(ms: number): string {
  return String(Math.ceil(ms))
}

function ttlText(ttlMs: TtlMs): string {
  return ttlMs === Infinity ? 'forever' : wholeMs(ttlMs)
}
