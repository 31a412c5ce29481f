// The client of an execution in the background: it takes everything and never leaves.
import type { ClientStream } from './answer.ts'

export const NOBODY: ClientStream = {
  gone: false,
  onGone: nothing,
  head: nothing,
  flushHead: nothing,
  write: () => true,
  onDrain: nothing,
  end: nothing,
  break: nothing,
}

function nothing(): void {}
