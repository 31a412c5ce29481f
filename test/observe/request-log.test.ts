import pino from 'pino'
import t from 'tap'
import { type RequestLine, requestLog } from '../../src/observe/request-log.ts'

function logTo(lines: string[], level = 'info') {
  return pino({ level, base: undefined }, { write: (line: string) => void lines.push(line) })
}

const LINES: RequestLine[] = [
  { method: 'GET', path: '/', outcome: 'passed', status: 200, ms: 0 },
  { method: 'POST', path: '/a"b\\c\u0007é%20', outcome: 'client-gone', status: undefined, ms: 1.5 },
  { method: 'POST', path: '/v1', outcome: 'replayed', status: 200, rule: 'two\n"lines"', fingerprint: 'AZaz09_-', ms: 12.3 },
  { method: 'POST', path: '/v1', outcome: 'passed', status: 200, reason: 'no-owner', rule: 'r', ms: 1000 },
]

t.test('a line is what pino would have written', (t) => {
  const ours: string[] = []
  const pinos: string[] = []
  const write = requestLog(logTo(ours))
  const log = logTo(pinos)
  for (const line of LINES) {
    write(line)
    log.info(line, 'request')
  }
  const withoutTime = (line: string) => ({ ...(JSON.parse(line) as object), time: 0 })
  t.same(ours.map(withoutTime), pinos.map(withoutTime))
  t.ok(
    ours.every((line) => line.indexOf('\n') === line.length - 1),
    'one line each',
  )
  t.end()
})

t.test('nothing is written below the level', (t) => {
  const lines: string[] = []
  requestLog(logTo(lines, 'warn'))(LINES[0]!)
  t.same(lines, [])
  t.end()
})
