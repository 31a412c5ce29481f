// The bytes of an upstream's answer, from what it is made of: no two executions have a piece in common.
import { createHash } from 'node:crypto'
import type { BodyPlan } from './history.ts'

export function bodyPieces({ wish, payload, execution, attempt, pieces, pieceBytes }: BodyPlan): Buffer[] {
  const first = Buffer.from(`data: ${JSON.stringify({ wish, payload, execution, attempt })}\n\n`)
  const rest = Array.from({ length: pieces - 1 }, (_, n) => {
    const word = createHash('sha256').update(`${execution} ${n}`).digest('hex')
    return Buffer.from(`data: ${word.repeat(Math.ceil(pieceBytes / word.length)).slice(0, pieceBytes)}\n\n`)
  })
  return [first, ...rest]
}

export function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
