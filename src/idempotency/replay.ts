// Answers from what is stored, or is being stored: whole, or from where a client has lost it.
import { isPlainEventStream } from '../model/headers.ts'
import type { RecordView } from '../model/record.ts'
import type { HeaderList, KeptResponse } from '../model/stored-response.ts'
import { splitTrace } from '../model/trace.ts'
import type { Store } from '../stores/store.ts'
import type { Answer, FollowedAnswer } from './answer.ts'
import { refuseUnstored } from './refuse.ts'
import { resumePoint } from './resume.ts'

export interface Resume {
  /** The last event that the client has seen. */
  readonly lastEventId: string | undefined
  /** The rule adds ids to the events. */
  readonly streamIds: boolean
}

/** `Age` (RFC 9111 5.1): whole seconds since the answer was made, by the store's clock alone. */
export function replay(store: Store, { head, body }: KeptResponse, record: RecordView, resume: Resume): Answer | Promise<Answer> {
  if (!head.bodyStored) return refuseUnstored(record, head)
  const { fingerprint, executionId } = record
  const age = Math.max(0, Math.floor((record.readAt - record.updatedAt) / 1000))
  const headers = ['Idempotency-Fingerprint', fingerprint, 'Idempotency-Replayed', 'true', 'Age', String(age)]
  const { lastEventId } = resume
  const asStream = (lastEventId !== undefined || resume.streamIds) && isPlainEventStream(head.headers)
  if (body !== undefined && !asStream) {
    const { headers: lines, executedBy } = splitTrace(head.headers)
    return { kind: 'replay', response: { head: executedBy === undefined ? head : { ...head, headers: lines }, body }, headers, executedBy }
  }
  return followed({ store, fingerprint, executionId, live: undefined, head }, lastEventId, headers)
}

/** From its first byte, or from after the event that the client has seen last. */
export async function followed(answer: FollowedAnswer, lastEventId: string | undefined, headers: HeaderList): Promise<Answer> {
  const { offset, events } = lastEventId === undefined ? START : await resumePoint(answer, lastEventId)
  const { headers: lines, executedBy } = splitTrace(answer.head.headers)
  const shown = executedBy === undefined ? answer : { ...answer, head: { ...answer.head, headers: lines } }
  return { kind: 'follow', answer: shown, offset, eventsBefore: events, headers, executedBy }
}

const START = { offset: 0, events: 0 }

export function joinedHeaders(fingerprint: string): string[] {
  return ['Idempotency-Fingerprint', fingerprint, 'Idempotency-Replayed', 'true']
}
