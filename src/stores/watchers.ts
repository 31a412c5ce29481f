// Who in this process wants to hear of which fingerprint.

export class Watchers {
  readonly #callbacks = new Map<string, Set<() => void>>()

  /** Returns the function that removes it again; calling that twice is harmless. */
  add(fingerprint: string, onChange: () => void): () => void {
    // One registration each, also where the same function is given twice.
    const callback = (): void => onChange()
    const callbacks = this.#callbacks.get(fingerprint) ?? new Set()
    this.#callbacks.set(fingerprint, callbacks.add(callback))
    return () => {
      callbacks.delete(callback)
      if (callbacks.size === 0 && this.#callbacks.get(fingerprint) === callbacks) this.#callbacks.delete(fingerprint)
    }
  }

  notify(fingerprint: string): void {
    // A copy: a callback may stop watching, or start again.
    for (const callback of Array.from(this.#callbacks.get(fingerprint) ?? [])) callback()
  }

  notifyAll(): void {
    for (const fingerprint of this.fingerprints()) this.notify(fingerprint)
  }

  has(fingerprint: string): boolean {
    return this.#callbacks.has(fingerprint)
  }

  fingerprints(): string[] {
    return [...this.#callbacks.keys()]
  }

  get size(): number {
    return this.#callbacks.size
  }

  clear(): void {
    this.#callbacks.clear()
  }
}
