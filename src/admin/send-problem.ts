// Problems on the admin port: RFC 9457, as on the traffic port.
import type { FastifyReply } from 'fastify'
import { problemDocument, wholeSeconds } from '../model/problem-document.ts'
import { type Problem, problemStatus } from '../model/problems.ts'

export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  void reply.code(problemStatus(problem)).header('Oncegate-Error', problem.name).header('Cache-Control', 'no-store')
  if (problem.retryAfterMs !== undefined) void reply.header('Retry-After', wholeSeconds(problem.retryAfterMs))
  return reply.type('application/problem+json').send(`${JSON.stringify(problemDocument(problem))}\n`)
}
