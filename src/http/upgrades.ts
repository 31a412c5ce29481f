// Which upgrades are taken: WebSocket. A request that offers another protocol is answered as if it had not.
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'

type UpgradeListener = (raw: IncomingMessage, socket: Duplex, head: Buffer) => void

/**
 * RFC 9110 7.8: a server may ignore an offered protocol, and must not fail the request for it. Java's HttpClient offers
 * h2c with its first request, curl with --http2. Node hands every such request to the upgrade listeners and parses no
 * more of it; so its head is written anew without the offer, and the connection begins again with that.
 */
export function takeWebSocketsOnly(server: Server): void {
  const listeners = server.listeners('upgrade') as UpgradeListener[]
  server.removeAllListeners('upgrade')
  server.on('upgrade', (raw: IncomingMessage, socket: Duplex, head: Buffer) => {
    // RFC 6455 4.1: a WebSocket is asked for with GET; with another method it is no way past the rules.
    if (raw.method === 'GET' && raw.headers.upgrade?.trim().toLowerCase() === 'websocket')
      for (const listener of listeners) listener(raw, socket, head)
    else beginAgain(server, raw, socket, head)
  })
}

function beginAgain(server: Server, raw: IncomingMessage, socket: Duplex, head: Buffer): void {
  const lines = [`${raw.method} ${raw.url} HTTP/${raw.httpVersion}`]
  for (let i = 0; i < raw.rawHeaders.length; i += 2) {
    const name = raw.rawHeaders[i]!
    if (/^(?:upgrade|http2-settings)$/i.test(name)) continue
    const value = /^connection$/i.test(name) ? withoutOffer(raw.rawHeaders[i + 1]!) : raw.rawHeaders[i + 1]!
    lines.push(`${name}: ${value}`)
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]))
  server.emit('encrypted' in socket ? 'secureConnection' : 'connection', socket)
}

function withoutOffer(connection: string): string {
  return connection
    .split(',')
    .filter((option) => !/^\s*(?:upgrade|http2-settings)\s*$/i.test(option))
    .join(',')
    .trim()
}
