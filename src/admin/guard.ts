// Who may use the admin port: whoever has the token, and no web page of another site.
import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { problem, type Problem } from '../model/problems.ts'
import { isConsolePage } from './console-routes.ts'
import { sendProblem } from './send-problem.ts'

/** Orchestrators ask for these without credentials; a browser gets the console's page before it can show any. */
const OPEN = new Set(['/healthz', '/readyz'])

/** An `onRequest` hook. `token`: empty where none is asked for. */
export function adminGuard(token: string, onRefused: (request: FastifyRequest, problem: Problem) => void) {
  const expected = digest(token)
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> => {
    const path = request.url.split('?', 1)[0]!
    if (OPEN.has(path) || (request.method === 'GET' && isConsolePage(path))) return undefined
    const refusal = refuse(request, token === '' ? undefined : expected)
    if (refusal === undefined) return undefined
    onRefused(request, refusal)
    if (refusal.name === 'token-invalid') void reply.header('WWW-Authenticate', 'Bearer')
    return sendProblem(reply, refusal)
  }
}

function refuse({ method, headers }: FastifyRequest, expected: Buffer | undefined): Problem | undefined {
  const [, given] = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '') ?? []
  // Digests are of one length, so that the comparison tells nothing of the token, not even how long it is.
  if (expected !== undefined && (given === undefined || !timingSafeEqual(digest(given), expected))) {
    return problem('token-invalid', 'The admin port asks for its token: Authorization: Bearer <adminToken>.')
  }
  // Fetch Metadata: a page that somebody opens beside the gateway could send this in their name.
  const site = headers['sec-fetch-site']
  if (method === 'GET' || site === undefined || site === 'same-origin' || site === 'none') return undefined
  return problem('request-invalid', 'A page of another site cannot change records.', { status: 403 })
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
