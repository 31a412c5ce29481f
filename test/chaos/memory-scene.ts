// Gateways inside this process on one memory store, each behind a link of its own that can fail: chaos without processes, in which
// faults can be planted in the store.
import { setTimeout as pause } from 'node:timers/promises'
import pino from 'pino'
import { loadConfig } from '../../src/config/load.ts'
import { type Gateway, startGateway } from '../../src/gateway.ts'
import { MemoryStore } from '../../src/stores/memory/memory-store.ts'
import { type Store, StoreUnavailable } from '../../src/stores/store.ts'
import { bound, type Plant } from './planted-faults.ts'
import { LIMITS, rulesYaml } from './rules.ts'
import type { ChaosStore, Stage } from './scene.ts'

/** `hold`: what is sent arrives when it is over, and nobody waits for it any more. */
export class Link {
  fault: 'none' | 'hold' | 'dropReplies' = 'none'
  #healed = Promise.resolve()
  #heal: () => void = () => undefined

  break(fault: 'hold' | 'dropReplies'): void {
    this.fault = fault
    this.#healed = new Promise((resolve) => (this.#heal = resolve))
  }

  heal(): void {
    this.fault = 'none'
    this.#heal()
  }

  /** The verb's result, or StoreUnavailable after the store's time. */
  async pass<T>(verb: string, call: () => Promise<T>): Promise<T> {
    if (this.fault === 'none') return call()
    if (this.fault === 'hold') void this.#healed.then(call).catch(() => undefined)
    else await call()
    await pause(LIMITS.storeTimeoutMs)
    throw new StoreUnavailable(verb)
  }
}

/** The store as one gateway sees it, through its link. */
export function linked(store: Store, link: Link): Store {
  return new Proxy(store, {
    get: (target, verb: keyof Store) => {
      // The store is closed once, by whoever has opened it.
      if (verb === 'close') return async () => undefined
      const call = bound(target, verb) as ((...args: unknown[]) => Promise<unknown>) | undefined
      return call && ((...args: unknown[]) => link.pass(verb, () => call(...args)))
    },
  })
}

/** `plant` puts a faulty store in the place of the right one. A link is held for longer than a lease. */
export function memoryStore(plant: Plant = (store) => store, holdMs: readonly [from: number, to: number] = [1700, 3000]): ChaosStore {
  return {
    faultKinds: [
      { kind: 'hold', scope: 'gateway', weight: 3, ms: holdMs },
      { kind: 'dropReplies', scope: 'gateway', weight: 1, ms: [200, 2500] },
    ],
    open: async (stage) => {
      let now: () => number = Date.now
      const memory = new MemoryStore(() => now())
      const store = plant(memory, (other) => (now = other))
      const links = Array.from({ length: stage.gateways }, () => new Link())
      const gateways = await Promise.all(links.map((link, gateway) => inProcess(stage, gateway, linked(store, link))))
      return {
        gateways: gateways.map(({ url }) => ({ url, up: true })),
        inject: async ({ kind, gateway = 0, ms }) => {
          links[gateway]!.break(kind === 'hold' ? 'hold' : 'dropReplies')
          await pause(ms)
          links[gateway]!.heal()
        },
        close: async () => {
          await Promise.all(gateways.map((gateway) => gateway.close()))
          await memory.close()
        },
      }
    },
  }
}

async function inProcess({ upstream }: Stage, gateway: number, store: Store): Promise<Gateway> {
  const address = '127.0.0.1:0'
  const { config } = loadConfig({
    text: `storeTimeout: ${LIMITS.storeTimeoutMs}ms\nrules:${rulesYaml()}`,
    env: {},
    overrides: { upstream: upstream.url(gateway), listen: address, admin: address, store: 'memory:' },
  })
  return startGateway(config, pino({ level: 'silent' }), { open: async () => store })
}
