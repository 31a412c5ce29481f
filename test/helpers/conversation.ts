// A conversation on one TCP connection: writes bytes, and waits for those that come back.
import { once } from 'node:events'
import net from 'node:net'
import { until } from './until.ts'

export class Conversation {
  /** Everything so far, one character a byte. */
  received = ''
  /** `reset` where the peer broke it. */
  closed: 'no' | 'cleanly' | 'reset' = 'no'
  readonly socket: net.Socket

  private constructor(socket: net.Socket) {
    this.socket = socket
    socket.on('data', (chunk: Buffer) => (this.received += chunk.toString('latin1')))
    socket.on('error', () => (this.closed = 'reset'))
    socket.on('close', () => {
      if (this.closed === 'no') this.closed = 'cleanly'
    })
  }

  /** With a first message, if there is one. */
  static async open(port: number, first?: string | Buffer): Promise<Conversation> {
    const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    await once(socket, 'connect')
    const conversation = new Conversation(socket)
    socket.on('end', () => socket.end())
    if (first !== undefined) conversation.write(first)
    return conversation
  }

  write(bytes: string | Buffer): void {
    this.socket.write(bytes)
  }

  /** Resolves when the pattern has come; fails with what came instead. */
  async hears(pattern: RegExp, withinMs = 5000): Promise<RegExpExecArray> {
    try {
      await until(`the peer says ${String(pattern)}`, () => pattern.test(this.received) || this.closed !== 'no', withinMs)
    } catch (error) {
      throw new Error(`${(error as Error).message}; it said ${JSON.stringify(this.received.slice(0, 2000))}`)
    }
    const found = pattern.exec(this.received)
    if (found === null) throw new Error(`closed before ${String(pattern)}: ${JSON.stringify(this.received.slice(0, 2000))}`)
    return found
  }

  /** One whole answer with a Content-Length (or none and no body), taken out of what was received. */
  async answer(withinMs = 5000): Promise<{ status: number; head: string; body: string }> {
    const [head] = await this.hears(/^HTTP\/1\.1 [\s\S]*?\r\n\r\n/, withinMs)
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
    const whole = () => this.received.length >= head.length + length
    await until(`the ${length} bytes of the body`, () => whole() || this.closed !== 'no', withinMs)
    if (!whole()) throw new Error(`closed in the middle of the body: ${JSON.stringify(this.received.slice(0, 500))}`)
    const body = this.received.slice(head.length, head.length + length)
    this.received = this.received.slice(head.length + length)
    return { status: Number(head.slice(9, 12)), head, body }
  }

  close(): void {
    this.socket.destroy()
  }
}
