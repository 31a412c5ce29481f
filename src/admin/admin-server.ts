// The admin port: is the process alive, and can it guard.
import fastify, { type FastifyInstance } from 'fastify'

export interface Health {
  /** Rejects when the store is out of reach. */
  readonly checkStore: () => Promise<void>
  readonly draining: () => boolean
}

export function createAdminServer(health: Health): FastifyInstance {
  const app = fastify({ logger: false })
  app.get('/healthz', async () => ({ status: 'ok' }))
  app.get('/readyz', async (_request, reply) => {
    if (health.draining()) return reply.code(503).send({ status: 'shutting-down' })
    try {
      await health.checkStore()
      return { status: 'ready' }
    } catch (error) {
      return reply.code(503).send({ status: 'store-unavailable', detail: error instanceof Error ? error.message : String(error) })
    }
  })
  return app
}
