// The deployment's keys, from the secret that the configuration names or the store keeps.
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { deriveKeys, type FingerprintKeys } from '../fingerprint/keys.ts'
import type { Store } from '../stores/store.ts'

const ASK_AGAIN_MS = 250

/** The keys, as soon as the store (or the configuration) has given the secret. */
export class SecretKeys {
  keys: FingerprintKeys | undefined
  readonly #store: Store
  #stopped = false

  constructor(store: Store, configured: string) {
    this.#store = store
    if (configured !== '') this.keys = deriveKeys(configured)
  }

  /** Asks the store once; while it is out of reach, asking goes on in the background. */
  async tryOnce(): Promise<void> {
    if (this.keys !== undefined || (await this.#ask())) return
    void this.#askUntilKnown()
  }

  stop(): void {
    this.#stopped = true
  }

  async #askUntilKnown(): Promise<void> {
    while (!this.#stopped && !(await this.#ask())) await pause(ASK_AGAIN_MS, undefined, { ref: false })
  }

  async #ask(): Promise<boolean> {
    try {
      this.keys = deriveKeys(await this.#store.secret(randomBytes(32).toString('base64url')))
      return true
    } catch {
      return false
    }
  }
}
