// Where the body of an answer is kept: whole where it is small, else in pieces; both under the execution that it is of.
import { INLINE_BYTES } from '../store.ts'
import type { SettleRequest } from '../store.ts'
import type { KeptRecord } from '../transitions.ts'
import type { Environment, LmdbRecord } from './environment.ts'
import { inTransaction } from './environment.ts'
import { clearPieces, dropPieces, readPieces, writePieces } from './pieces.ts'

const NO_BODY = Buffer.alloc(0)

/** Inside a transaction: the body of a record that was settled just now, from the log and what came after it. */
export function keepBody(environment: Environment, before: LmdbRecord, settled: LmdbRecord, request: SettleRequest): void {
  const { executionId, response, logged = 0 } = request
  const { bodies } = environment
  const rest = settled.head?.bodyStored === true && response !== undefined ? response.body : NO_BODY
  if (isLarge(settled)) {
    // Pieces of an answer that is not kept may still be there, waiting for the sweep.
    if (logged === 0 && (before.log !== undefined || before.status === 'unknown')) clearPieces(environment, executionId)
    writePieces(environment, executionId, logged, rest)
    if (hasInlineBody(before)) inTransaction(bodies.remove(executionId))
    return
  }
  const fromLog = settled.head?.bodyStored === true && logged > 0
  const body = fromLog ? Buffer.concat([readPieces(environment, executionId, 0, logged), rest]) : rest
  if (body.length > 0) inTransaction(bodies.put(executionId, body))
  else if (hasInlineBody(before)) inTransaction(bodies.remove(executionId))
  if (hasPieces(before)) dropPieces(environment, executionId)
}

/** The stored body where it comes with the claim. */
export function inlineBody({ bodies }: Environment, record: KeptRecord): Buffer | undefined {
  return isLarge(record) ? undefined : (bodies.getBinary(record.executionId) ?? NO_BODY)
}

/** Bytes of the body or of the log, from the offset on. */
export function readBytes(
  environment: Environment,
  record: KeptRecord,
  { offset, maxBytes }: { offset: number; maxBytes: number },
): Buffer {
  const body = record.status === 'processing' ? undefined : inlineBody(environment, record)
  return body?.subarray(offset, offset + maxBytes) ?? readPieces(environment, record.executionId, offset, maxBytes)
}

/** Inside a transaction: the record's execution is over, or begins anew where `by` is the same. */
export function dropAnswer(environment: Environment, record: KeptRecord, by?: string): void {
  if (hasInlineBody(record)) inTransaction(environment.bodies.remove(record.executionId))
  if (!hasPieces(record)) return
  if (record.executionId === by) clearPieces(environment, by)
  else dropPieces(environment, record.executionId)
}

function hasInlineBody(record: KeptRecord): boolean {
  return record.head !== undefined && !isLarge(record)
}

function hasPieces(record: KeptRecord): boolean {
  return record.log !== undefined || isLarge(record)
}

function isLarge({ head }: KeptRecord): boolean {
  return head?.bodyStored === true && head.bodyBytes > INLINE_BYTES
}

/** The same settling of an answer whose body is not kept. */
export function withoutBody(request: SettleRequest): SettleRequest {
  const { response } = request
  return response === undefined
    ? request
    : { ...request, logged: 0, response: { head: { ...response.head, bodyStored: false }, body: NO_BODY } }
}
