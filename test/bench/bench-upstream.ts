// A backend that answers 1 KiB at once, whatever it is asked.
import http from 'node:http'
import type { AddressInfo } from 'node:net'

const body = Buffer.from(JSON.stringify({ text: 'x'.repeat(1013) }))
const headers = ['Content-Type', 'application/json', 'Content-Length', String(body.length)]
const server = http.createServer((request, response) => {
  request.resume()
  request.on('end', () => response.writeHead(200, headers).end(body))
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })}\n`),
)
