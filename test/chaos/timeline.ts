// A history put in order for the checks: per wish what was asked, answered, executed and read, and when faults reigned.
import type {
  AnsweredEvent,
  AskedEvent,
  EndedEvent,
  ExecutedEvent,
  FaultEvent,
  HistoryEvent,
  RunEvent,
  StatusEvent,
  TroubleEvent,
  UnansweredEvent,
} from './history.ts'
import type { Limits } from './rules.ts'

export interface Exchange {
  readonly asked: AskedEvent
  /** Undefined: the history ends before it. */
  readonly outcome: AnsweredEvent | UnansweredEvent | undefined
}

export interface Execution {
  readonly begun: ExecutedEvent
  /** When the client sent the request that it belongs to: the gateway's own time for it began no earlier. */
  readonly askedAt: number
  /** Undefined: it still ran when the history ended. */
  readonly ended: EndedEvent | undefined
}

export interface WishStory {
  readonly wish: string
  readonly rule: RunEvent['rules'][number]
  /** In the order of asking. */
  readonly exchanges: Exchange[]
  /** In the order in which the upstream began. */
  readonly executions: Execution[]
  readonly statuses: StatusEvent[]
}

export interface Timeline {
  readonly run: RunEvent
  readonly stories: readonly WishStory[]
  readonly faults: Faults
  readonly troubles: readonly TroubleEvent[]
}

/** When what was not as it should be. */
export class Faults {
  /** Of the run: what can cost an execution its lease. */
  readonly #faults: readonly FaultEvent[]
  readonly #busy: readonly FaultEvent[]

  constructor(faults: readonly FaultEvent[]) {
    this.#faults = faults.filter(({ kind }) => kind !== 'busy').toSorted((one, other) => one.from - other.from)
    this.#busy = faults.filter(({ kind }) => kind === 'busy')
  }

  /** Of that gateway, or of what all share, at any time from `from` to `to`. */
  touched(gateway: number, from: number, to: number): boolean {
    return this.#of(gateway).some((fault) => fault.from <= to && fault.to >= from)
  }

  /** Of any gateway. */
  anyBefore(at: number): boolean {
    const [first] = this.#faults
    return first !== undefined && first.from <= at
  }

  /** Milliseconds of the interval in which that gateway, or what all share, was at fault or busy; overlapping ones count twice. */
  overlap(gateway: number, from: number, to: number): number {
    let sum = 0
    for (const fault of [...this.#of(gateway), ...this.#busy]) sum += Math.max(0, Math.min(to, fault.to) - Math.max(from, fault.from))
    return sum
  }

  #of(gateway: number): FaultEvent[] {
    return this.#faults.filter((fault) => fault.gateway === undefined || fault.gateway === gateway)
  }
}

export function timelineOf(history: readonly HistoryEvent[]): Timeline {
  const run = history.find((event) => event.type === 'run')
  if (run === undefined) throw new TypeError('a history begins with its run')
  const rules = new Map(run.rules.map((rule) => [rule.name, rule]))
  const ended = new Map<string, EndedEvent>()
  const outcomes = new Map<number, AnsweredEvent | UnansweredEvent>()
  const askedAt = new Map<number, number>()
  for (const event of history) {
    if (event.type === 'asked') askedAt.set(event.request, event.at)
    if (event.type === 'ended') ended.set(event.execution, event)
    if (event.type === 'answered' || event.type === 'unanswered') outcomes.set(event.request, event)
  }
  const stories = new Map<string, WishStory>()
  const story = (wish: string, rule: string): WishStory => {
    const known = stories.get(wish) ?? { wish, rule: rules.get(rule)!, exchanges: [], executions: [], statuses: [] }
    stories.set(wish, known)
    return known
  }
  const faults: FaultEvent[] = []
  const troubles: TroubleEvent[] = []
  for (const event of history) {
    if (event.type === 'asked') story(event.wish, event.rule).exchanges.push({ asked: event, outcome: outcomes.get(event.request) })
    if (event.type === 'executed') {
      story(event.wish, event.rule).executions.push({
        begun: event,
        askedAt: askedAt.get(event.request) ?? event.at,
        ended: ended.get(event.execution),
      })
    }
    // A status is read only after an answer: the wish is known.
    if (event.type === 'status') stories.get(event.wish)?.statuses.push(event)
    if (event.type === 'fault') faults.push(event)
    if (event.type === 'trouble') troubles.push(event)
  }
  return { run, stories: [...stories.values()], faults: new Faults(faults), troubles }
}

/** What an upstream's status means; the contract's table, spelt out anew. */
export function classOf(status: number): 'completed' | 'failed' | 'unknown' {
  if (status === 504) return 'unknown'
  if (status >= 500 || [401, 403, 408, 409, 425, 429].includes(status)) return 'failed'
  return 'completed'
}

/** The upstream's own answer, whole, as a result: whoever has this was promised to get it again. */
export function isResult(outcome: Exchange['outcome']): outcome is AnsweredEvent & { whole: true } {
  return outcome?.type === 'answered' && outcome.error === undefined && outcome.whole && classOf(outcome.status) === 'completed'
}

/** Answered in time, with an answer that leaves nothing unknown. */
export function wentWell({ begun, ended, askedAt }: Execution, { timeoutMs }: Limits): boolean {
  return ended?.how === 'answered' && classOf(begun.status) !== 'unknown' && ended.at < askedAt + timeoutMs
}
