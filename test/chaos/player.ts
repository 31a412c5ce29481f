// Plays a schedule: clients ask, faults strike, and afterwards everything that was promised is collected.
import { createHash } from 'node:crypto'
import http from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { type Answer, send } from '../helpers/client.ts'
import type { AskedEvent, StatusEvent } from './history.ts'
import type { Recorder } from './recorder.ts'
import { LIMITS, RULES } from './rules.ts'
import type { ChaosGateway } from './scene.ts'
import type { Wish } from './schedule.ts'

const AGAIN = new Set(RULES.filter(({ onUnknown }) => onUnknown === 'retry').map(({ name }) => name))

/** So long a client tries to find a gateway that is up. */
const COME_AGAIN_MS = 20_000
/** Longer than any limit: whoever waits so long waits for ever. */
const GIVE_UP_MS = 60_000

interface StatusDocument {
  readonly status?: string
  readonly attempt?: number
  readonly execution?: string
  readonly result_hash?: string
}

export interface Asking {
  readonly gateway: number
  readonly wish: Wish
  readonly payload: number
  readonly wait?: number
  readonly leaveAfterMs?: number
  readonly phase: AskedEvent['phase']
}

export class Player {
  readonly #gateways: readonly ChaosGateway[]
  readonly #recorder: Recorder
  readonly #agent = new http.Agent({ keepAlive: true, maxSockets: Infinity })
  readonly #fingerprints: Map<string, string>
  #requests = 0

  /** `fingerprints` are those that the upstream has seen, by wish; answers tell more. */
  constructor(gateways: readonly ChaosGateway[], recorder: Recorder, fingerprints: Map<string, string>) {
    this.#gateways = gateways
    this.#recorder = recorder
    this.#fingerprints = fingerprints
  }

  get gateways(): number {
    return this.#gateways.length
  }

  /**
   * The one that was meant, or the next that is up, as a load balancer would; where none is, the client comes later. A dead one is never
   * asked: its port can be a stranger's by now.
   */
  async #balance(meant: number): Promise<number | undefined> {
    const order = this.#gateways.map((_, n) => (meant + n) % this.#gateways.length)
    const endsAt = performance.now() + COME_AGAIN_MS
    for (;;) {
      const found = order.find((gateway) => this.#gateways[gateway]!.up)
      if (found !== undefined || performance.now() > endsAt) return found
      await pause(50)
    }
  }

  async ask({ gateway: meant, wish, payload, wait, leaveAfterMs, phase }: Asking): Promise<void> {
    const gateway = await this.#balance(meant)
    if (gateway === undefined) return
    const request = this.#requests++
    const asked = { type: 'asked', at: this.#recorder.now(), request, gateway, wish: wish.id, rule: wish.rule, payload, phase } as const
    this.#recorder.add(wait === undefined ? asked : { ...asked, wait })
    try {
      const answer = await send(`${this.#gateways[gateway]!.url}/${wish.rule}`, {
        headers: {
          authorization: wish.owner,
          'idempotency-key': wish.key,
          'x-request': String(request),
          ...(wait === undefined ? {} : { prefer: `wait=${wait}` }),
        },
        body: { fact: wish.key, payload },
        agent: this.#agent,
        timeout: GIVE_UP_MS,
        ...(leaveAfterMs === undefined ? {} : { signal: AbortSignal.timeout(leaveAfterMs) }),
      })
      this.#recordAnswer(request, wish, answer)
    } catch (error) {
      this.#recorder.add({
        type: 'unanswered',
        at: this.#recorder.now(),
        request,
        why: error instanceof Error ? error.message : String(error),
      })
    }
  }

  #recordAnswer(request: number, wish: Wish, answer: Answer): void {
    const error = answer.headers['oncegate-error']
    const fingerprint = answer.headers['idempotency-fingerprint']
    if (fingerprint !== undefined && !this.#fingerprints.has(wish.id)) this.#fingerprints.set(wish.id, String(fingerprint))
    this.#recorder.add({
      type: 'answered',
      at: this.#recorder.now(),
      request,
      status: answer.status,
      ...(error === undefined ? {} : { error: String(error) }),
      replayed: answer.headers['idempotency-replayed'] === 'true',
      ...(fingerprint === undefined ? {} : { fingerprint: String(fingerprint) }),
      whole: answer.whole,
      bytes: answer.body.length,
      hash: createHash('sha256').update(answer.body).digest('hex'),
    })
  }

  /** Nothing is read where nobody has told the fingerprint yet. */
  async readStatus(wish: Wish, meant: number, final = false): Promise<StatusEvent | undefined> {
    const gateway = await this.#balance(meant)
    const fingerprint = this.#fingerprints.get(wish.id)
    if (fingerprint === undefined || gateway === undefined) return undefined
    const at = this.#recorder.now()
    const answer = await send(`${this.#gateways[gateway]!.url}/status/${fingerprint}`, { method: 'GET', agent: this.#agent }).catch(
      () => undefined,
    )
    if (answer === undefined) return undefined
    const document = answer.status === 200 ? (answer.json() as StatusDocument) : {}
    const event: StatusEvent = {
      type: 'status',
      at,
      until: this.#recorder.now(),
      gateway,
      wish: wish.id,
      code: answer.status,
      ...(document.status !== undefined && { status: document.status, attempt: document.attempt!, execution: document.execution! }),
      ...(document.result_hash !== undefined && { resultHash: document.result_hash }),
      final,
    }
    this.#recorder.add(event)
    return event
  }

  /** Once all faults are over: how each wish ended, and what is replayed of it. What would execute anew is not asked for. */
  async collect(wish: Wish, gateway: number, payload: number): Promise<void> {
    const endsAt = performance.now() + LIMITS.timeoutMs + 2 * LIMITS.leaseMs
    let status = await this.readStatus(wish, gateway)
    while (status?.status === 'processing' && performance.now() < endsAt) {
      await pause(100)
      status = await this.readStatus(wish, gateway)
    }
    status = await this.readStatus(wish, gateway, true)
    const settled = status?.status === 'completed' || (status?.status === 'unknown' && !AGAIN.has(wish.rule))
    if (settled) await this.ask({ gateway, wish, payload, phase: 'after' })
  }

  close(): void {
    this.#agent.destroy()
  }
}
