// Collects a run's history on one clock.
import type { HistoryEvent } from './history.ts'

export class Recorder {
  readonly history: HistoryEvent[] = []
  readonly #began = performance.now()

  now(): number {
    return Math.round((performance.now() - this.#began) * 10) / 10
  }

  add(event: HistoryEvent): void {
    this.history.push(event)
  }
}
