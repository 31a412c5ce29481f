// A second process on an LMDB directory: what the tests race against, ask and kill.
import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { LmdbStore } from '../../src/stores/lmdb/lmdb-store.ts'
import type { AcquireRequest, SettleRequest } from '../../src/stores/store.ts'
import { within } from '../helpers/until.ts'
import { acquireOf, newFingerprint, responseOf, settleOf } from './requests.ts'

type Order =
  | { verb: 'race'; fingerprints: string[] }
  | { verb: 'fill'; log: boolean }
  | { verb: 'stream'; request: AcquireRequest; settle: SettleRequest; pieces: number; pieceBytes: number }
  | { verb: 'acquire'; request: AcquireRequest }
  | { verb: 'settle'; settle: SettleRequest; body: string }
  | { verb: 'once'; request: AcquireRequest; settle: SettleRequest; body: string }

const self = fileURLToPath(import.meta.url)
const HEAD = { status: 200, headers: ['content-type', 'text/event-stream'] }

/** Bytes of which no two places look alike. */
export function streamed(length: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, n) => (n * n) % 251))
}

export interface Peer {
  readonly ready: Promise<void>
  ask(order: Order): Promise<unknown>
  kill(): Promise<void>
}

/** `largestFileKiB`: the peer's disk is full beyond it. */
export function startPeer(directory: string, largestFileKiB?: number): Peer {
  const limited = { execPath: 'bash', execArgv: ['-c', `ulimit -f ${largestFileKiB} && exec '${process.execPath}' "$0" "$@"`] }
  const child: ChildProcess = fork(self, [directory], {
    serialization: 'advanced',
    ...(largestFileKiB === undefined ? { execArgv: [] } : limited),
    stdio: ['ignore', 'inherit', largestFileKiB === undefined ? 'inherit' : 'ignore', 'ipc'],
  })
  const answer = async (): Promise<unknown> => (await within('an answer of the peer', once(child, 'message'), 20_000))[0]
  return {
    ready: answer().then(() => undefined),
    ask: (order) => {
      child.send(order)
      return answer()
    },
    kill: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}

async function carryOut(store: LmdbStore, order: Order): Promise<unknown> {
  switch (order.verb) {
    case 'race': {
      // A few at a time: one big batch would be one transaction, and the whole race one process's.
      const won: string[] = []
      for (let n = 0; n < order.fingerprints.length; n += 10) {
        const some = order.fingerprints.slice(n, n + 10)
        const claims = await Promise.all(some.map((fingerprint) => store.acquire(acquireOf(fingerprint))))
        won.push(...some.filter((_, i) => claims[i]?.kind === 'acquired'))
      }
      return won
    }
    case 'fill':
      for (let n = 0; n < 100; n++) {
        const request = acquireOf(newFingerprint())
        const chunk = Buffer.alloc(100_000)
        try {
          await store.acquire(request)
          if (order.log) await store.append({ ...request, offset: 0, chunk, head: HEAD })
          else await store.settle(settleOf(request, 'completed', { response: responseOf(chunk) }))
        } catch (error) {
          // Were a rejection left unheard, the process would end here.
          await new Promise((resolve) => setTimeout(resolve, 50))
          await store.ping()
          return error instanceof Error ? error.name : 'no error'
        }
      }
      return 'never full'
    case 'stream': {
      const { request, pieces, pieceBytes } = order
      const whole = streamed(pieces * pieceBytes)
      await store.acquire(request)
      for (let offset = 0; offset < whole.length; offset += pieceBytes) {
        await store.append({ ...request, offset, chunk: whole.subarray(offset, offset + pieceBytes), head: HEAD })
      }
      const { head } = responseOf(whole)
      return store.settle({ ...order.settle, response: { head, body: Buffer.alloc(0) }, logged: whole.length })
    }
    case 'acquire':
      return (await store.acquire(order.request)).kind
    case 'settle':
      await store.settle({ ...order.settle, response: responseOf(order.body) })
      return Date.now()
    case 'once':
      await store.acquire(order.request)
      return store.settle({ ...order.settle, response: responseOf(order.body) })
  }
}

if (process.argv[1] === self && process.argv[2] !== undefined) {
  const store = new LmdbStore(process.argv[2], { timeoutMs: 10_000, warn: () => undefined })
  process.on('message', (order: Order) => void carryOut(store, order).then((result) => process.send?.(result)))
  process.on('disconnect', () => process.exit())
  process.send?.('ready')
}
