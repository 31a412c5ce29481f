// The measure of all ratios: @fastify/http-proxy alone, as its own documentation sets it up.
import httpProxy from '@fastify/http-proxy'
import fastify from 'fastify'

const app = fastify({ logger: false })
await app.register(httpProxy, { upstream: process.argv[2]! })
const url = await app.listen({ host: '127.0.0.1', port: 0 })
process.stdout.write(`${JSON.stringify({ url })}\n`)
