// What cannot be read as HTTP never becomes a request: it is answered on the bare connection.
import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Metrics } from '../model/metrics.ts'
import { problem } from '../model/problems.ts'
import { problemResponse } from './problem-response.ts'
import type { RequestLog } from './proxy-routes.ts'

const DETAILS: Readonly<Record<number, string>> = {
  400: 'The request cannot be read as HTTP.',
  408: 'The request did not come in time.',
  431: 'The header section of the request is too large.',
}

/** RFC 9112 2.2, 3 and 6.3: whatever follows on the connection cannot be told from the rest of this request, so it is closed. */
export function refuseUnreadable(
  error: NodeJS.ErrnoException,
  socket: Socket & { _httpMessage?: ServerResponse | null },
  { statusPath, log, gate }: { readonly statusPath: string; readonly log: RequestLog; readonly gate: { readonly metrics: Metrics } },
): void {
  // In the midst of another answer a second head would be taken for a part of it.
  if (error.code === 'ECONNRESET' || !socket.writable || socket._httpMessage?.headersSent === true) {
    socket.destroy()
    return
  }
  const wanted = error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400
  const { status, headers, body } = problemResponse(problem('request-invalid', DETAILS[wanted]!, { status: wanted }), {
    statusPath,
    accept: undefined,
  })
  const lines = headers.map((text, i) => (i % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('')
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}Connection: close\r\n\r\n${body.toString('latin1')}`, 'latin1', () =>
    socket.destroy(),
  )
  gate.metrics.request(undefined, 'request-invalid')
  log.info({ outcome: 'request-invalid', status, cause: error.code }, 'request')
}
