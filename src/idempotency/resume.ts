// Where a client that has seen a part of a stream goes on.
import type { FollowedAnswer } from './answer.ts'

export interface ResumePoint {
  readonly offset: number
  /** Events of the stream before it. */
  readonly events: number
}

export async function resumePoint(_answer: FollowedAnswer, _lastEventId: string): Promise<ResumePoint> {
  return { offset: 0, events: 0 }
}
