// One script on its way to the server and back, as the driver carries it.
import type { Command } from 'ioredis'

/** What a script answers: Redis strings as bytes, arrays, and nil. */
export type Reply = Buffer | null | readonly Reply[]

export interface Settle {
  readonly resolve: (reply: Reply) => void
  readonly reject: (error: Error) => void
}

type Carried = Pick<Command, 'name' | 'args' | 'isTraced' | 'setReplyContext' | 'toWritable' | 'reject'> & Settle

/**
 * What ioredis asks of a command between sending it and handing over its reply. The driver's own Command is made ready for
 * transformers, prefixes, timeouts and traces that no script here has, and costs more than all the rest of the way.
 */
export class ScriptCall implements Carried {
  readonly name: 'evalsha' | 'eval'
  /** The driver shows these in its errors: owners, digests and answers stay out of them. */
  readonly args = []
  /** A trace would show the arguments too. */
  readonly isTraced = true
  readonly resolve: (reply: Reply) => void
  readonly reject: (error: Error) => void
  readonly #written: string | Buffer

  constructor(name: 'evalsha' | 'eval', written: string | Buffer, settle: Settle) {
    this.name = name
    this.#written = written
    this.resolve = settle.resolve
    this.reject = settle.reject
  }

  asCommand(): Command {
    return this as unknown as Command
  }

  setReplyContext(): void {}

  toWritable(): string | Buffer {
    return this.#written
  }
}

/** The command in Redis' protocol (RESP): an array of strings, each behind its length in bytes. */
export function writeCommand(words: readonly string[], keys: readonly string[], args: readonly (string | Buffer)[]): string | Buffer {
  let text = `*${words.length + 1 + keys.length + args.length}\r\n`
  for (const word of words) text += bulk(word)
  text += bulk(String(keys.length))
  for (const key of keys) text += bulk(key)
  const pieces: Buffer[] = []
  for (const arg of args) {
    if (typeof arg === 'string') text += bulk(arg)
    else {
      pieces.push(Buffer.from(`${text}$${arg.length}\r\n`), arg)
      text = '\r\n'
    }
  }
  if (pieces.length === 0) return text
  pieces.push(Buffer.from(text))
  return Buffer.concat(pieces)
}

function bulk(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`
}
