// How one request comes to its turn: acquires, within the rule's limits, and asks the upstream where nobody knows what became of it.
import type { AskConfig } from '../config/gateway-config.ts'
import type { AcquireRequest, Claim } from '../stores/store.ts'
import { acquireWithin } from './admission.ts'
import type { ClientStream } from './answer.ts'
import type { Gate, GuardedRequest } from './gate.ts'
import { inquire } from './inquiry.ts'
import { NOBODY } from './nobody.ts'
import { persist } from './persist.ts'
import { type InLine, waitInLine } from './line.ts'
import type { Pending, Turn } from './turn.ts'

type OnCompleted = AcquireRequest['onCompleted']

export class Turns {
  readonly #gate: Gate
  readonly #request: GuardedRequest
  readonly #executionId: string
  readonly #client: ClientStream
  readonly #since = performance.now()
  /** Once it was: an earlier execution is known of, whatever becomes of the store. */
  unknownMet = false
  /** Once it was: it has waited for its group. */
  hasWaited = false
  /** What it comes to, where that is not waited for. */
  taken: Promise<Turn> | undefined
  /** Called when it begins to wait for its group, with the record that does. */
  onWaiting: (fingerprint: string) => void = nothing

  constructor(gate: Gate, request: GuardedRequest, { executionId, client }: { executionId: string; client: ClientStream }) {
    this.#gate = gate
    this.#request = request
    this.#executionId = executionId
    this.#client = client
  }

  take(onCompleted: OnCompleted): Promise<Turn> {
    const turn = this.#inTurn(onCompleted)
    const { onUnknown } = this.#request.rule
    if (typeof onUnknown !== 'object') return turn
    return turn.then((taken) => (taken.kind === 'unknown' ? this.#ask(taken, onUnknown.ask) : taken))
  }

  #inTurn(onCompleted: OnCompleted): Promise<Turn> {
    const turn = this.#acquire(onCompleted)
    // Only where facts exclude each other does one wait.
    const { rule, operation } = this.#request
    if ((operation.keptFor ?? rule).exclusive === undefined) return turn as Promise<Turn>
    return turn.then((claim) => (claim.kind === 'pending' ? this.#waitInLine(claim, onCompleted) : claim))
  }

  #waitInLine(first: Pending, onCompleted: OnCompleted): Promise<Turn> {
    this.hasWaited = true
    this.onWaiting(first.record.fingerprint)
    const [request, executionId] = [this.#request, this.#executionId]
    const { rule, preferWait, respondAsync } = request
    const maxWait = Math.min(preferWait === undefined ? Infinity : preferWait * 1000, rule.inFlight.maxWait)
    const inLine: InLine = respondAsync
      ? // Nobody waits who could leave: it may take as long as the work itself.
        { request, executionId, client: NOBODY, endsAt: performance.now() + rule.timeout }
      : { request, executionId, client: this.#client, endsAt: this.#since + maxWait }
    return waitInLine(this.#gate, first, inLine, () => this.#acquire(onCompleted))
  }

  #acquire(onCompleted: OnCompleted): Promise<Turn | Pending> {
    const [gate, request, executionId] = [this.#gate, this.#request, this.#executionId]
    const ask = (how: OnCompleted): Promise<Claim> =>
      persist(() => gate.store.acquire(acquireRequest(request, executionId, how)), gate.storeTimeout)
    // A result that waits for the store comes first: by its record alone nobody would know of it.
    const acquire = (how: OnCompleted): Promise<Claim> =>
      gate.spooled.holds(request.operation) ? gate.spooled.settle(request.operation).then(() => ask(how)) : ask(how)
    const limits = gate.limits.of(request.rule)
    return limits === undefined ? acquire(onCompleted) : acquireWithin(limits, gate, request, { executionId, onCompleted, acquire })
  }

  /** What the record says when the upstream has been asked. What was unknown is this request's answer, first try or not. */
  async #ask(turn: Extract<Turn, { kind: 'unknown' }>, config: AskConfig): Promise<Turn> {
    this.unknownMet = true
    const [gate, request, { record }] = [this.#gate, this.#request, turn]
    const found = await gate.inquiries.ask(record.executionId, config.backoff, () => inquire({ gate, request, config, record }))
    if (found.kind === 'unclear') return { ...turn, askAgainMs: found.askAgainMs }
    // Nothing is executed for a client that has left meanwhile.
    const next = this.#client.gone ? turn : await this.#inTurn('replay')
    return next.kind === 'unknown' ? { ...next, askAgainMs: config.backoff } : next
  }
}

function acquireRequest({ rule, operation }: GuardedRequest, executionId: string, onCompleted: OnCompleted): AcquireRequest {
  const { name, exclusive } = operation.keptFor ?? rule
  return {
    fingerprint: operation.fingerprint,
    aliases: operation.aliases,
    digests: operation.digests,
    executionId,
    rule: name,
    owner: operation.owner,
    digest: operation.digest,
    digestFields: operation.digestFields,
    leaseMs: rule.lease,
    ttlMs: rule.ttl,
    onFailed: rule.onFailed,
    onUnknown: rule.onUnknown === 'retry' ? 'retry' : 'refuse',
    onCompleted,
    unique: operation.alsoUnique && { names: operation.alsoUnique.names, keepMs: longestLife(rule) },
    tombstone: operation.keptFor?.tombstones ?? rule.tombstone !== undefined,
    exclusive: exclusive && { whenBusy: exclusive.whenBusy, placeMs: Math.min(rule.lease, PLACE_MS) },
  }
}

/** A result may be settled as late as that after its execution has ended (execute.ts). */
const SETTLED_LATE_MS = 15 * 60_000
const CENTURY_MS = 100 * 365 * 86_400_000

/** How long a record may live that an acquire has met: it is renewed while it executes, and kept for its ttl from then on. */
function longestLife({ timeout, lease, ttl }: GuardedRequest['rule']): number {
  return Math.min(timeout + 2 * lease + SETTLED_LATE_MS + ttl, CENTURY_MS)
}

/** Whoever waits asks again every second. */
const PLACE_MS = 5000

function nothing(): void {}
