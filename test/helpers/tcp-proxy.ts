// A TCP proxy that breaks what passes through it, as a bad network does.
import { once } from 'node:events'
import type { Server, Socket } from 'node:net'
import { connect, createServer } from 'node:net'

/**
 * `hold`: nothing passes, either way (a black hole). `dropReplies`: requests pass, answers do not.
 * `cutInside`: of an HTTP answer half of the first bytes of its body pass, then the connection ends.
 */
export type Fault = 'none' | 'hold' | 'dropReplies' | 'cutInside'

export class TcpProxy {
  fault: Fault = 'none'
  delayMs = 0
  /** How often something did not pass. */
  dropped = 0
  /** Where new connections lead: a name that moves from one server to another. */
  targetPort: number
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #onRequest: (() => void) | undefined

  private constructor(targetPort: number) {
    this.targetPort = targetPort
    this.#server = createServer((client) => {
      const target = connect(this.targetPort, '127.0.0.1')
      this.#pipe(client, target, () => {
        this.#onRequest?.()
        return this.fault !== 'hold'
      })
      this.#pipe(target, client, (data) => (this.fault === 'cutInside' ? endsBeforeBody(data, client) : this.fault === 'none'))
    })
  }

  static async start(targetPort: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(targetPort)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  get port(): number {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('the proxy is closed')
    return address.port
  }

  /** Resolves when the next bytes from a client have come, before they are passed on. */
  nextRequest(): Promise<void> {
    return new Promise((resolve) => {
      this.#onRequest = () => {
        this.#onRequest = undefined
        resolve()
      }
    })
  }

  /** Breaks every connection. */
  cut(): void {
    for (const socket of this.#sockets) {
      // A reset of one that is shutting down fails, and leaves a handle that keeps Node from ending.
      if (socket.writableEnded) socket.destroy()
      else socket.resetAndDestroy()
    }
  }

  async stop(): Promise<void> {
    this.#server.close()
    this.cut()
    await once(this.#server, 'close')
  }

  #pipe(from: Socket, to: Socket, passes: (data: Buffer) => boolean): void {
    this.#sockets.add(from)
    from.on('data', (data: Buffer) => {
      if (to.writableEnded || !passes(data)) {
        this.dropped++
        return
      }
      if (this.delayMs > 0) setTimeout(() => to.write(data), this.delayMs)
      else to.write(data)
    })
    from.on('error', () => undefined)
    from.on('close', () => {
      this.#sockets.delete(from)
      to.destroy()
    })
  }
}

/** True: nothing of the body yet. False: its first half has been sent, and with it the connection ends. */
function endsBeforeBody(data: Buffer, client: Socket): boolean {
  const body = data.subarray(0, 5).equals(Buffer.from('HTTP/')) ? data.indexOf('\r\n\r\n') + 4 : 0
  if (body === data.length) return true
  client.end(data.subarray(0, body + Math.ceil((data.length - body) / 2)))
  return false
}
