// The store on Redis, be it one server, several behind Sentinel, or a cluster: each verb is one script and one round trip, on the server's clock.
import type { Redis } from 'ioredis'
import type { RecordView } from '../../model/record.ts'
import type { RedisAddress } from '../../model/redis-address.ts'
import type { KeptResponse } from '../../model/stored-response.ts'
import { withDeadline } from '../deadline.ts'
import type { StoreOptions } from '../store-options.ts'
import type {
  AcquireRequest,
  AppendRequest,
  Claim,
  ExecutionName,
  ListRequest,
  LogReading,
  LogRequest,
  RecordsPage,
  RenewRequest,
  SettleRequest,
  SettleResult,
  Store,
  TtlMs,
} from '../store.ts'
import { INLINE_BYTES, MOST_NAMES, StoreUnavailable } from '../store.ts'
import { checkSettle } from '../transitions.ts'
import { ChangeChannel } from './change-channel.ts'
import { checkServers } from './check-server.ts'
import type { Reply, ScriptRun } from './connect.ts'
import { groupKeys, nameKey, recordKeys, tombstoneKey } from './keys.ts'
import { listRecords } from './list-records.ts'
import { openServers } from './open-servers.ts'
import { oneOf, readClaim, readLogReading, readRecord, readStored, text, writeAbout, writeAnswerHead, writeHead } from './reply.ts'
import { loadScript, type Script } from './script.ts'
import type { RedisServers } from './servers.ts'

const SECRET_KEY = 'oncegate:secret'
const NOTHING = Buffer.alloc(0)

const acquireScript = loadScript('acquire')
const renewScript = loadScript('renew')
const settleScript = loadScript('settle')
const appendScript = loadScript('append')
const cancelScript = loadScript('cancel')
const removeScript = loadScript('remove')
const readScript = loadScript('read')
const readLogScript = loadScript('read-log')

/** Also where the servers are down: the store is then out of reach until they are up. */
export async function openRedisStore(address: RedisAddress, options: StoreOptions): Promise<RedisStore> {
  const { servers, subscriber } = openServers(address, options)
  const checked = servers.whenReady().then(
    () => checkServers(servers.masters(), options),
    () => undefined,
  )
  await Promise.all([servers.connect(), subscriber.connect()])
  // What is to be said is said before anything starts, but nothing waits for servers that are away.
  const masters = servers.masters()
  const there = masters.length > 0 && masters.every(({ ready }) => ready)
  if (there) await withDeadline('check', options.timeoutMs, checked).catch(() => undefined)
  return new RedisStore(servers, new ChangeChannel(subscriber, options.timeoutMs), options)
}

export class RedisStore implements Store {
  readonly #servers: RedisServers
  readonly #changes: ChangeChannel
  readonly #options: StoreOptions

  constructor(servers: RedisServers, changes: ChangeChannel, options: StoreOptions) {
    this.#servers = servers
    this.#changes = changes
    this.#options = options
  }

  async acquire(request: AcquireRequest): Promise<Claim> {
    const { fingerprint, aliases, executionId, leaseMs, ttlMs, onFailed, onUnknown, onCompleted } = request
    const own = recordKeys(fingerprint)
    const names = aliases === undefined ? own : [...own, ...aliases.flatMap(recordKeys)]
    const common = [
      executionId,
      digestsOf(request),
      writeAbout(request),
      wholeMs(leaseMs),
      ttlText(ttlMs),
      onFailed,
      onUnknown,
      onCompleted,
    ]
    const { exclusive, tombstone = false, unique } = request
    const grouped = exclusive === undefined ? names : [...names, ...groupKeys(fingerprint)]
    const buried = tombstone ? [...grouped, ...[fingerprint, ...(aliases ?? [])].map(tombstoneKey)] : grouped
    const keys = unique === undefined ? buried : [...buried, ...unique.names.map(nameKey)]
    const args = exclusive === undefined && !tombstone && unique === undefined ? common : [...common, ...seldom(request)]
    return readClaim(await this.#servers.script('acquire', { script: acquireScript, keys, args, needsAck: isGrant }), request)
  }

  async renew({ fingerprint, executionId, leaseMs, ttlMs }: RenewRequest): Promise<SettleResult | 'cancelled'> {
    const args = [executionId, wholeMs(leaseMs), ttlText(ttlMs)]
    const keys = [...recordKeys(fingerprint), ...groupKeys(fingerprint)]
    const reply = await this.#servers.script('renew', { script: renewScript, keys, args })
    return oneOf<SettleResult | 'cancelled'>(text(reply), ['ok', 'stale', 'cancelled'])
  }

  async settle(request: SettleRequest): Promise<SettleResult> {
    checkSettle(request)
    const { fingerprint, executionId, to, ttlMs, keepAtLeastMs } = request
    const common = [executionId, to, ttlText(ttlMs), wholeMs(keepAtLeastMs), ...answerOf(request)]
    const grouped = [...recordKeys(fingerprint), ...groupKeys(fingerprint)]
    const { tombstoneMs } = request
    const keys = tombstoneMs === undefined ? grouped : [...grouped, tombstoneKey(fingerprint)]
    // Behind what there may be of a log.
    const args = tombstoneMs === undefined ? common : [...common, ...['0', 'body'].slice(common.length - 6), wholeMs(tombstoneMs)]
    // A claim that is taken back and lost lapses into an unknown outcome: no harm, and nothing to wait for.
    const needsAck = request.response === undefined ? undefined : isOk
    return settleResult(await this.#servers.script('settle', { script: settleScript, keys, args, ...(needsAck && { needsAck }) }))
  }

  async append({ fingerprint, executionId, offset, chunk, head, overflow }: AppendRequest): Promise<SettleResult> {
    const headText = head === undefined ? '' : writeAnswerHead(head)
    const args = [executionId, String(offset), chunk, headText, overflow === true ? 'overflow' : '']
    return settleResult(await this.#run('append', appendScript, fingerprint, { args, needsAck: isOk }))
  }

  async cancel({ fingerprint, executionId }: ExecutionName): Promise<SettleResult> {
    return settleResult(await this.#run('cancel', cancelScript, fingerprint, { args: [executionId] }))
  }

  async readLog({ fingerprint, executionId, offset, maxBytes }: LogRequest): Promise<LogReading> {
    const args = [executionId, String(offset), String(maxBytes)]
    return readLogReading(fingerprint, await this.#run('readLog', readLogScript, fingerprint, { args }))
  }

  async read(fingerprint: string): Promise<RecordView | undefined> {
    const reply = await this.#read('read', fingerprint, [])
    return reply === null ? undefined : readRecord(fingerprint, reply)
  }

  list(request: ListRequest): Promise<RecordsPage> {
    return listRecords(this.#servers.masters(), request, (fingerprint) => this.read(fingerprint))
  }

  async remove({ fingerprint, executionId }: ExecutionName): Promise<SettleResult> {
    return settleResult(
      await this.#servers.script('remove', {
        script: removeScript,
        keys: [...recordKeys(fingerprint), tombstoneKey(fingerprint)],
        args: [executionId],
        needsAck: isOk,
      }),
    )
  }

  async readResponse(fingerprint: string): Promise<KeptResponse | undefined> {
    const reply = await this.#read('readResponse', fingerprint, ['body'])
    return reply === null ? undefined : readStored(reply)
  }

  watch(fingerprint: string, onChange: () => void): Promise<() => void> {
    return this.#changes.watch(fingerprint, onChange)
  }

  /** One that a fail-over forgot would give the same facts other names. */
  async secret(candidate: string): Promise<string> {
    const kept = await this.#servers.run('secret', (client) => keptSecret(client, candidate, this.#options), SECRET_KEY)
    if (kept === null) throw new StoreUnavailable('secret', new Error('the secret was removed while it was being read'))
    return kept
  }

  async ping(): Promise<void> {
    await this.#servers.run('ping', (client) => client.ping())
  }

  async close(): Promise<void> {
    this.#changes.close()
    this.#servers.close()
  }

  #read(verb: string, fingerprint: string, args: readonly string[]): Promise<Reply> {
    return this.#servers.script(verb, { script: readScript, keys: [...recordKeys(fingerprint), tombstoneKey(fingerprint)], args })
  }

  #run(verb: string, script: Script, fingerprint: string, rest: Pick<ScriptRun, 'args' | 'needsAck'>): Promise<Reply> {
    return this.#servers.script(verb, { script, keys: recordKeys(fingerprint), ...rest })
  }
}

async function keptSecret(client: Redis, candidate: string, { replicasAck = 0, timeoutMs }: StoreOptions): Promise<string | null> {
  await client.set(SECRET_KEY, candidate, 'NX')
  const kept = await client.get(SECRET_KEY)
  if (replicasAck === 0 || kept === null) return kept
  // Changes nothing, and is a write that replicas can be asked for.
  await client.append(SECRET_KEY, '')
  const count = await client.wait(replicasAck, Math.max(1, Math.floor(timeoutMs / 2)))
  if (count < replicasAck) throw new Error(`${count} of ${replicasAck} replicas have the secret`)
  return kept
}

/** The arguments of what most requests do not have. */
function seldom({ exclusive, tombstone, unique }: AcquireRequest): string[] {
  const ofGroup = [exclusive?.whenBusy ?? '', wholeMs(exclusive?.placeMs ?? 0), tombstone === true ? 'tombstone' : '']
  return unique === undefined ? ofGroup : [...ofGroup, String(unique.names.length), wholeMs(unique.keepMs), String(MOST_NAMES)]
}

/** A place in a line is none: it is lost without harm. */
function isGrant(reply: Reply): boolean {
  return text(reply).startsWith('acquired ')
}

function isOk(reply: Reply): boolean {
  return text(reply) === 'ok'
}

/** One for all names, or some for each in the order of the script's KEYS. */
function digestsOf({ digest, digests }: AcquireRequest): string {
  return digests === undefined ? digest : digests.map((some) => some.join('|')).join(',')
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
