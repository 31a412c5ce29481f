// The admin port: is the process alive, can it guard, what has it done, and the records that operators have a word on.
import fastify, { type FastifyError, type FastifyInstance } from 'fastify'
import { problem, type Problem } from '../model/problems.ts'
import { addConfigRoutes, type ConfigRoutes, versionSummary } from './config-routes.ts'
import { adminGuard } from './guard.ts'
import { addConsoleRoutes } from './console-routes.ts'
import { addFindRoutes } from './find-routes.ts'
import { addListRoutes } from './list-routes.ts'
import { addOverviewRoute, type Overview } from './overview-route.ts'
import type { RecordsRoutes } from './records-context.ts'
import { addRecordsRoutes } from './records-routes.ts'
import { sendProblem } from './send-problem.ts'

export interface Health {
  /** Rejects when the store is out of reach. */
  readonly checkStore: () => Promise<void>
  readonly draining: () => boolean
}

export interface Measures {
  readonly contentType: string
  text(): Promise<string>
}

export interface AdminOptions {
  readonly health: Health
  readonly measures: Measures
  readonly records: Omit<RecordsRoutes, 'credential'>
  readonly config: ConfigRoutes
  readonly overview: Overview
  /** Empty: none is asked for. */
  readonly token: string
}

/** A result of the largest `maxResult` in base64, and what stands around it. */
const BODY_SHARE = 1.4
const BODY_MARGIN = 65_536

export function createAdminServer({ health, measures, records, config, overview, token }: AdminOptions): FastifyInstance {
  const largest = Math.max(0, ...[...records.rules.values()].map(({ config }) => config.maxResult))
  const app = fastify({ logger: false, bodyLimit: Math.ceil(largest * BODY_SHARE) + BODY_MARGIN })
  app.addHook(
    'onRequest',
    adminGuard(token, ({ ip, method }, { name }) =>
      records.log.warn({ address: ip, method, refused: name }, 'the admin port refused a request'),
    ),
  )
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.setNotFoundHandler((_request, reply) => sendProblem(reply, problem('not-found', 'The admin port has nothing at this address.')))
  app.setErrorHandler((error: FastifyError, _request, reply) => {
    if ((error.statusCode ?? 500) >= 500) records.log.warn({ err: error }, 'the admin port failed')
    return sendProblem(reply, problemOf(error))
  })
  addHealthRoutes(app, health, config)
  addConfigRoutes(app, config)
  app.get('/metrics', async (_request, reply) => reply.type(measures.contentType).send(await measures.text()))
  const routes: RecordsRoutes = { ...records, credential: token === '' ? 'none' : 'adminToken' }
  addListRoutes(app, routes)
  addFindRoutes(app, routes)
  addOverviewRoute(app, overview)
  addConsoleRoutes(app)
  addRecordsRoutes(app, routes)
  return app
}

function problemOf({ statusCode = 500 }: FastifyError): Problem {
  if (statusCode === 413) return problem('body-too-large', 'The body is larger than any result that a rule keeps.')
  if (statusCode < 500) return problem('request-invalid', 'The request cannot be read.', { status: statusCode })
  return problem('internal-error', 'The gateway failed; its log says why.')
}

function addHealthRoutes(app: FastifyInstance, { checkStore, draining }: Health, config: ConfigRoutes): void {
  app.get('/healthz', async () => ({ status: 'ok' }))
  app.get('/readyz', async (_request, reply) => {
    if (draining()) return reply.code(503).send({ status: 'shutting-down' })
    try {
      await checkStore()
      return { status: 'ready', config: versionSummary(config) }
    } catch (error) {
      return reply.code(503).send({ status: 'store-unavailable', detail: error instanceof Error ? error.message : String(error) })
    }
  })
}
