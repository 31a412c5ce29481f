// Where a client that has seen a part of a stream goes on.
import { setTimeout as pause } from 'node:timers/promises'
import { isPlainEventStream } from '../model/headers.ts'
import type { FollowedAnswer } from './answer.ts'
import { findResumePoint, type ResumePoint } from './find-resume-point.ts'

const START: ResumePoint = { offset: 0, events: 0 }

const READ_BYTES = 262_144

/** A client can have seen what has not reached this gateway yet; longer than this it is not waited for. */
const PATIENCE_MS = 1000
const LOOK_AGAIN_MS = 20

/**
 * Right behind the event that `Last-Event-ID` names (HTML Living Standard 9.2.6), or the start, where this answer has no such event or is
 * no event stream that can be looked into. Rejects with StoreUnavailable.
 */
export async function resumePoint(answer: FollowedAnswer, lastEventId: string): Promise<ResumePoint> {
  if (!isPlainEventStream(answer.head.headers)) return START
  return (await findResumePoint(bytesOf(answer), lastEventId, answer.executionId)) ?? START
}

/**
 * From the first byte to the last that can be had. Asks the live answer without following it: whoever stops following as the last one
 * ends it.
 */
async function* bytesOf(answer: FollowedAnswer): AsyncGenerator<Buffer> {
  let offset = 0
  let patientUntil: number | undefined
  for (;;) {
    const bytes = await bytesFrom(answer, offset)
    if (bytes === undefined) return
    offset += bytes.length
    if (bytes.length > 0) {
      yield bytes
      continue
    }
    patientUntil ??= performance.now() + PATIENCE_MS
    if (performance.now() > patientUntil) return
    await pause(LOOK_AGAIN_MS)
  }
}

/** Empty: none yet; undefined: none any more. */
async function bytesFrom({ store, fingerprint, executionId, live }: FollowedAnswer, offset: number): Promise<Buffer | undefined> {
  const here = live?.from(offset)
  if (here !== undefined && (here.length > 0 || live?.end === undefined)) return here
  if (live?.end !== undefined && offset >= live.length) return undefined
  const reading = await store.readLog({ fingerprint, executionId, offset, maxBytes: READ_BYTES })
  if (reading.kind === 'open') return reading.bytes
  return reading.kind === 'closed' && reading.bytes.length > 0 ? reading.bytes : undefined
}
