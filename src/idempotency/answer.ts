// What a guarded request is answered with. The http floor writes it; the heart only decides.
import type { Problem } from '../model/problems.ts'
import type { AnswerHead, HeaderList, StoredResponse } from '../model/stored-response.ts'
import type { ExecutionName, Store } from '../stores/store.ts'
import type { LiveAnswer } from './live-answer.ts'

/** A response whose bytes are read as they are wanted. */
export interface FollowedAnswer extends ExecutionName {
  readonly store: Store
  /** Undefined: the answer is stored, and the log is closed. */
  readonly live: LiveAnswer | undefined
  readonly head: AnswerHead
}

export type Answer =
  /** The gateway refuses, and says why. */
  | { readonly kind: 'problem'; readonly problem: Problem; readonly headers?: HeaderList }
  /** The stored response, again. */
  | { readonly kind: 'replay'; readonly response: StoredResponse; readonly headers: HeaderList; readonly executedBy?: string | undefined }
  /** A streamed response, from an offset on: that of a running execution, or a stored one that is read by pieces. */
  | {
      readonly kind: 'follow'
      readonly answer: FollowedAnswer
      readonly offset: number
      /** Events of the stream before the offset. */
      readonly eventsBefore: number
      readonly headers: HeaderList
      /** The trace of the execution whose answer it is, where that was traced. */
      readonly executedBy?: string | undefined
    }
  /** RFC 7240 4.1: it runs in the background. */
  | { readonly kind: 'accepted'; readonly fingerprint: string; readonly status: 'pending' | 'processing' }
  /** The upstream's answer has gone to the client already, whole or broken. */
  | { readonly kind: 'streamed'; readonly status: number | undefined; readonly whole: boolean }
  /** The rule lets the request pass without a guard; `marked` when that was not the client's own choice. */
  | { readonly kind: 'unguarded'; readonly reason: 'no-owner' | 'part-missing' | 'store-unavailable'; readonly marked: boolean }

/** The client's side of one response, as far as an execution needs it. */
export interface ClientStream {
  /** True from the moment the client can no longer be reached. */
  readonly gone: boolean
  /** Called once, when the client leaves before its answer was whole. */
  onGone(listener: () => void): void
  /** Sends status and header lines; they may wait for the first bytes of the body. */
  head(status: number, headers: HeaderList): void
  /** Sends the head now, although no byte of the body is there yet. */
  flushHead(): void
  /** False: the client is slow, onDrain tells when to go on. */
  write(chunk: Buffer): boolean
  onDrain(listener: () => void): void
  end(chunk?: Buffer): void
  /** Ends so that the client cannot take what it has for the whole; the problem is told where the rule and the stream allow it. */
  break(problem?: Problem): void
}
