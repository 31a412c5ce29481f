// Counters, gauges and histograms as bare numbers: prom-client writes them out, and has no part in the counting.
import type { Metric } from 'prom-client'

export type Labels = Readonly<Record<string, string>>

/** One series. Counting is `value++`: prom-client looks up its labels with every call, at some 0.3 µs. */
export interface Cell {
  value: number
}

interface Reading {
  readonly value: number
}

/** What prom-client's registry asks of a metric, whatever made it. */
interface Written {
  readonly name: string
  get(): Promise<object>
}

/** To register with prom-client what only looks like one of its metrics. */
export function asMetric(family: Written): Metric {
  return family as unknown as Metric
}

export interface About {
  readonly name: string
  readonly help: string
}

/** Whether a series is written out; one that is not is counted all the same. */
type IsShown = (labels: Labels) => boolean

export class Family implements Written {
  readonly name: string
  readonly #help: string
  readonly #type: 'counter' | 'gauge'
  readonly #isShown: IsShown
  readonly #series: { readonly labels: Labels; readonly cell: Reading }[] = []

  constructor(type: 'counter' | 'gauge', { name, help }: About, isShown: IsShown = () => true) {
    this.name = name
    this.#help = help
    this.#type = type
    this.#isShown = isShown
  }

  /** A further series; it stands at zero. */
  add(labels: Labels = {}): Cell {
    const cell = { value: 0 }
    this.#series.push({ labels, cell })
    return cell
  }

  /** A further series, which is counted elsewhere. */
  watch(read: () => number, labels: Labels = {}): void {
    this.#series.push({
      labels,
      cell: {
        get value() {
          return read()
        },
      },
    })
  }

  get(): Promise<object> {
    const shown = this.#series.filter(({ labels }) => this.#isShown(labels))
    const values = shown.map(({ labels, cell }) => ({ labels, value: cell.value }))
    return Promise.resolve({ name: this.name, help: this.#help, type: this.#type, aggregator: 'sum', values })
  }
}

/** One series of a histogram of durations. */
export class Durations {
  readonly #bounds: readonly number[]
  /** By bucket, what is in it and in none before; the last is beyond every bound. */
  readonly counts: Float64Array
  sumMs = 0

  /** `bounds` in milliseconds, ascending. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.counts = new Float64Array(bounds.length + 1)
  }

  observe(ms: number): void {
    const bounds = this.#bounds
    let at = 0
    while (at < bounds.length && ms > bounds[at]!) at++
    this.counts[at]!++
    this.sumMs += ms
  }
}

export class HistogramFamily implements Written {
  readonly name: string
  readonly #help: string
  readonly #bounds: readonly number[]
  readonly #isShown: IsShown
  readonly #series: { readonly labels: Labels; readonly durations: Durations }[] = []

  /** `bounds` in milliseconds, ascending; written in seconds. */
  constructor({ name, help }: About, bounds: readonly number[], isShown: IsShown = () => true) {
    this.name = name
    this.#help = help
    this.#bounds = bounds
    this.#isShown = isShown
  }

  add(labels: Labels): Durations {
    const durations = new Durations(this.#bounds)
    this.#series.push({ labels, durations })
    return durations
  }

  get(): Promise<object> {
    const shown = this.#series.filter(({ labels }) => this.#isShown(labels))
    const values = shown.flatMap(({ labels, durations }) => this.#values(labels, durations))
    return Promise.resolve({ name: this.name, help: this.#help, type: 'histogram', aggregator: 'sum', values })
  }

  #values(labels: Labels, { counts, sumMs }: Durations): object[] {
    let count = 0
    const buckets = Array.from(counts, (more, n) => {
      count += more
      const le = n < this.#bounds.length ? String(this.#bounds[n]! / 1000) : '+Inf'
      return { metricName: `${this.name}_bucket`, labels: { ...labels, le }, value: count }
    })
    return [
      ...buckets,
      { metricName: `${this.name}_sum`, labels, value: sumMs / 1000 },
      { metricName: `${this.name}_count`, labels, value: count },
    ]
  }
}
