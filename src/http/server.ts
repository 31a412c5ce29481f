// The traffic port: Fastify, with @fastify/http-proxy owning every route and the WebSocket tunnel.
import { readFileSync } from 'node:fs'
import { METHODS, type IncomingMessage } from 'node:http'
import httpProxy from '@fastify/http-proxy'
import fastify, { type FastifyInstance } from 'fastify'
import { passedOn } from '../model/headers.ts'
import { problem } from '../model/problems.ts'
import { problemResponse } from './problem-response.ts'
import { takeWebSocketsOnly } from './upgrades.ts'
import { proxyRequest, type ProxyRoutes } from './proxy-routes.ts'
import { refuseUnreadable } from './refuse-unreadable.ts'

export interface ServerOptions {
  /** Addresses whose X-Forwarded-For is believed. */
  readonly trustProxy: readonly string[] | undefined
  readonly tls: { readonly cert: string; readonly key: string } | undefined
}

/** `current`: what a request meets that comes now; it keeps it to its end. */
export async function createServer(current: () => ProxyRoutes, options: ServerOptions): Promise<FastifyInstance> {
  const app = fastify({
    logger: false,
    exposeHeadRoutes: false,
    forceCloseConnections: 'idle',
    // While it drains the gateway answers by itself, as a problem.
    return503OnClosing: false,
    trustProxy: options.trustProxy === undefined ? false : [...options.trustProxy],
    // node would refuse it without a word; here it is refused like every other request that cannot be read.
    http: { requireHostHeader: false },
    clientErrorHandler: (error, socket) => refuseUnreadable(error, socket, current()),
    ...(options.tls === undefined
      ? {}
      : { https: { cert: readFileSync(options.tls.cert), key: readFileSync(options.tls.key), requireHostHeader: false } }),
    // The router sees only `/`, so that no spelling of a path can make it answer by itself.
    rewriteUrl: (raw) => (isUpgrade(raw as IncomingMessage) ? raw.url! : '/'),
  }) as unknown as FastifyInstance
  const methods = METHODS.filter((method) => method !== 'CONNECT')
  for (const method of methods) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method, { hasBody: true })
  answerExpectations(app)
  app.setErrorHandler((error, request, reply) => {
    const proxy = current()
    proxy.log.error({ err: error, method: request.method }, 'request failed')
    proxy.gate.metrics.request(undefined, 'request-invalid')
    const { status, headers, body } = problemResponse(problem('request-invalid', 'The request could not be read.'), {
      statusPath: proxy.statusPath,
      accept: request.headers.accept,
    })
    reply.hijack().raw.writeHead(status, headers).end(body)
  })
  await app.register(httpProxy, {
    upstream: '',
    replyOptions: { getUpstream: () => current().upstream.url },
    httpMethods: methods,
    websocket: true,
    wsClientOptions: {
      rewriteRequestHeaders: (headers: object, request: { raw: IncomingMessage }) => ({ ...headers, ...webSocketHeaders(request.raw) }),
    },
  })
  // Before Fastify looks at the body: it is passed on, or read as bytes, whatever its type says.
  app.addHook('onRequest', (request, reply, done) => {
    if (isUpgrade(request.raw)) return done()
    reply.hijack()
    void proxyRequest(current(), { raw: request.raw, response: reply.raw, url: request.originalUrl, ip: request.ip })
  })
  await app.ready()
  takeWebSocketsOnly(app.server)
  return app
}

/** Node would say `100 Continue` before anybody has looked at the request; here whoever reads the body says it. */
function answerExpectations(app: FastifyInstance): void {
  app.server.on('checkContinue', (raw, response) => app.server.emit('request', raw, response))
}

/** As Node's parser understood it: a header alone makes no upgrade, and must be no way past the rules. */
function isUpgrade(raw: IncomingMessage & { upgrade?: boolean | null }): boolean {
  return raw.upgrade === true
}

/** The handshake is made anew for the upstream; everything else the client sent goes along. */
function webSocketHeaders(raw: IncomingMessage): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {}
  const lines = passedOn(raw.rawHeaders)
  for (let i = 0; i < lines.length; i += 2) {
    const name = lines[i]!.toLowerCase()
    if (name === 'host' || name.startsWith('sec-websocket-')) continue
    const before = headers[name]
    headers[name] = before === undefined ? lines[i + 1]! : [...(Array.isArray(before) ? before : [before]), lines[i + 1]!]
  }
  return headers
}
