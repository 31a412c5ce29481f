// One place of a chaos run's gateways: a process that is killed and comes back, stands still, or has its clock set.
import { setTimeout as pause } from 'node:timers/promises'
import { type GatewayProcess, gatewayProcess } from '../helpers/gateway-process.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import type { Recorder } from './recorder.ts'
import { send } from '../helpers/client.ts'
import { LIMITS, rulesYaml } from './rules.ts'
import type { ChaosGateway } from './scene.ts'

const shiftedClock = new URL('./shifted-clock.js', import.meta.url).href
const READY_WITHIN_MS = 3000
/** pino's level of an error. */
const ERROR = 50

export interface PlaceOptions {
  readonly gateway: number
  readonly upstream: string
  readonly store: string
  /** Further settings, in YAML. */
  readonly top?: string | undefined
  readonly recorder: Recorder
}

export class ProcessGateway implements ChaosGateway {
  readonly #options: PlaceOptions
  #process: GatewayProcess | undefined
  #spool: ReturnType<typeof temporaryDirectory> | undefined
  #turn: Promise<void> = Promise.resolve()
  url = ''
  up = false

  constructor(options: PlaceOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    const { gateway, recorder } = this.#options
    // On a machine that has no time the first may take too long.
    const process = await this.#begin().catch(() => this.#begin())
    this.#process = process
    await ready(process)
    this.url = process.url
    this.up = true
    void process.ended.then(({ code, signal }) => {
      this.#tellErrors(process)
      if (signal !== 'SIGKILL') recorder.add({ type: 'trouble', gateway, what: `ended by itself: code ${code}, signal ${signal}` })
    })
  }

  async #begin(): Promise<GatewayProcess> {
    const { gateway, upstream, store, top = '' } = this.#options
    // The next process in this place finds what the killed one has spooled.
    const { path } = await (this.#spool ??= temporaryDirectory())
    return gatewayProcess({
      upstream,
      store,
      rules: rulesYaml(),
      top: `storeTimeout: ${LIMITS.storeTimeoutMs}ms\nspool: ${path}\n${top}`,
      nodeOptions: ['--import', shiftedClock],
      // Some clocks are ahead, the others behind.
      env: { CHAOS_CLOCK_SHIFT_MS: String(gateway % 2 === 0 ? -3_600_000 : 3_600_000) },
    })
  }

  /** kill -9, and another one in its place after that time. */
  kill(ms: number): Promise<void> {
    return this.#inTurn(async () => {
      this.up = false
      await this.#process?.kill()
      await pause(ms)
      await this.start()
    })
  }

  async stop(): Promise<void> {
    await this.#turn
    await this.#process?.kill()
    await (await this.#spool)?.remove()
  }

  async standStill(ms: number): Promise<void> {
    const process = this.#process
    process?.pause()
    await pause(ms)
    process?.resume()
  }

  async shiftClock(ms: number): Promise<void> {
    const process = this.#process
    process?.signal('SIGWINCH')
    await pause(ms)
    process?.signal('SIGWINCH')
  }

  #inTurn(action: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(action)
    return this.#turn
  }

  #tellErrors({ log }: GatewayProcess): void {
    const { gateway, recorder } = this.#options
    for (const line of log) if (Number(line.level) >= ERROR) recorder.add({ type: 'trouble', gateway, what: JSON.stringify(line) })
  }
}

/** It listens before it knows the store; where the store is away as well, it is used all the same. */
async function ready({ adminUrl }: GatewayProcess): Promise<void> {
  const endsAt = performance.now() + READY_WITHIN_MS
  while (performance.now() < endsAt) {
    const answer = await send(`${adminUrl}/readyz`, { method: 'GET' }).catch(() => undefined)
    if (answer?.status === 200) return
    await pause(20)
  }
}
