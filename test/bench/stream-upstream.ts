// A backend whose streams tell when each event left it: ?events=N&every=MILLISECONDS.
import http from 'node:http'
import type { AddressInfo } from 'node:net'

const server = http.createServer((request, response) => {
  request.resume()
  const query = new URL(request.url!, 'http://x').searchParams
  let left = Number(query.get('events'))
  response.writeHead(200, { 'Content-Type': 'text/event-stream' })
  const timer = setInterval(tell, Number(query.get('every')))
  response.on('close', () => clearInterval(timer))
  tell()

  function tell(): void {
    response.write(`data: ${JSON.stringify({ at: performance.timeOrigin + performance.now(), text: 'a few words of an answer' })}\n\n`)
    if (--left > 0) return
    clearInterval(timer)
    response.end('data: [DONE]\n\n')
  }
})
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })}\n`),
)
