// The load client where there is no wrk: fixed bytes out, responses counted by their Content-Length. It costs about as much as
// a gateway, and so hides differences between gateways.
import net from 'node:net'

export interface Load {
  port: number
  connections: number
  seconds: number
  /** The whole request as it goes over the wire. */
  request: (key: string) => string
  /** `fresh`: one that was never used before, each time. */
  keys: 'one' | 'fresh'
}

/** Requests answered per second. Rejects on any status but 200. */
export async function load(options: Load): Promise<number> {
  let answered = 0
  const end = performance.now() + options.seconds * 1000
  const started = performance.now()
  await Promise.all(Array.from({ length: options.connections }, () => connection()))
  return (answered * 1000) / (performance.now() - started)

  function next(): string {
    return options.request(options.keys === 'one' ? 'the-same-key' : `key-${++last}`)
  }

  function connection(): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = net.connect(options.port, '127.0.0.1')
      let buffered = ''
      socket.setNoDelay(true)
      socket.on('connect', () => socket.write(next()))
      socket.on('error', reject)
      socket.on('close', () => reject(new Error('the connection was closed')))
      socket.on('data', (chunk) => {
        buffered = buffered === '' ? chunk.latin1Slice(0, chunk.length) : buffered + chunk.latin1Slice(0, chunk.length)
        const head = buffered.indexOf('\r\n\r\n')
        if (head < 0 || buffered.length < head + 4 + contentLength(buffered, head)) return
        if (!buffered.startsWith('HTTP/1.1 200')) return reject(new Error(`unexpected answer: ${buffered.slice(0, 300)}`))
        buffered = ''
        answered++
        if (performance.now() < end) socket.write(next())
        else {
          socket.removeAllListeners('close')
          socket.destroy()
          resolve()
        }
      })
    })
  }
}

declare global {
  interface Buffer {
    latin1Slice(start: number, end: number): string
  }
}

let last = Date.now() % 1_000_000_000

function contentLength(text: string, headEnd: number): number {
  const at = text.slice(0, headEnd).toLowerCase().indexOf('content-length:')
  return at < 0 ? 0 : Number.parseInt(text.slice(at + 15, at + 30), 10)
}

export function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!
}
