// What happened in a chaos run, event by event, as clients, upstream and harness saw it. All times are milliseconds on one clock.
import type { ChaosRule, Limits } from './rules.ts'

/** The first event. */
export interface RunEvent {
  readonly type: 'run'
  readonly seed: number
  readonly store: string
  readonly gateways: number
  readonly rules: readonly ChaosRule[]
  readonly limits: Limits
}

/** A client sends a request. */
export interface AskedEvent {
  readonly type: 'asked'
  readonly at: number
  readonly request: number
  readonly gateway: number
  /** One owner's wish: what the promise is about. */
  readonly wish: string
  readonly rule: string
  /** What the wish holds: another payload under the same wish is a conflict. */
  readonly payload: number
  /** `Prefer: wait`, in seconds. */
  readonly wait?: number
  /** `after`: all faults are over, and what was promised is collected. */
  readonly phase: 'load' | 'after'
}

export interface AnsweredEvent {
  readonly type: 'answered'
  readonly at: number
  readonly request: number
  readonly status: number
  /** `Oncegate-Error`: the gateway's own answer. */
  readonly error?: string
  readonly replayed: boolean
  readonly fingerprint?: string
  /** False: the connection broke before the end. */
  readonly whole: boolean
  readonly bytes: number
  /** SHA-256 of the bytes. */
  readonly hash: string
}

/** The connection was refused or broke before there was an answer, or the client left. */
export interface UnansweredEvent {
  readonly type: 'unanswered'
  readonly at: number
  readonly request: number
  readonly why: string
}

/** What an answer of the upstream is made of: whoever knows this knows its bytes. */
export interface BodyPlan {
  readonly wish: string
  readonly payload: number
  readonly execution: string
  readonly attempt: number
  readonly pieces: number
  readonly pieceBytes: number
}

/** The upstream has the whole request, and acts. */
export interface ExecutedEvent extends BodyPlan {
  readonly type: 'executed'
  readonly at: number
  readonly request: number
  readonly gateway: number
  readonly rule: string
  readonly fingerprint: string
  /** With which it means to answer. */
  readonly status: number
}

/** `answered`: the last byte was written. `reset`: the upstream broke the connection. `dropped`: the gateway did. */
export interface EndedEvent {
  readonly type: 'ended'
  readonly at: number
  readonly execution: string
  readonly how: 'answered' | 'reset' | 'dropped'
}

export interface FaultEvent {
  readonly type: 'fault'
  readonly kind: string
  /** Absent: all of them. */
  readonly gateway?: number
  readonly from: number
  /** When it was healed. */
  readonly to: number
}

/** A reading of the status page. */
export interface StatusEvent {
  readonly type: 'status'
  readonly at: number
  readonly until: number
  readonly gateway: number
  readonly wish: string
  readonly code: number
  readonly status?: string
  readonly attempt?: number
  readonly execution?: string
  readonly resultHash?: string
  /** The last reading of the run: the wish's end. */
  readonly final: boolean
}

/** A gateway says that something is wrong with itself, or ended without being told to. */
export interface TroubleEvent {
  readonly type: 'trouble'
  readonly gateway: number
  readonly what: string
}

export type HistoryEvent =
  | RunEvent
  | AskedEvent
  | AnsweredEvent
  | UnansweredEvent
  | ExecutedEvent
  | EndedEvent
  | FaultEvent
  | StatusEvent
  | TroubleEvent

export function toJsonLines(history: readonly HistoryEvent[]): string {
  return history.map((event) => `${JSON.stringify(event)}\n`).join('')
}

export function fromJsonLines(text: string): HistoryEvent[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as HistoryEvent)
}
