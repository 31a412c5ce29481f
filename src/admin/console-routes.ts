// The console: one page, its scripts, and the libraries that they use, all from this package. None of it tells anything of the deployment.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance, FastifyReply } from 'fastify'

/** Beside this file; `npm run build` copies them. */
const OWN = [
  'api.js',
  'app.js',
  'chart.js',
  'find.js',
  'icon.svg',
  'live.js',
  'parts.js',
  'record.js',
  'records.js',
  'rules.js',
  'settle.js',
  'state.js',
  'style.css',
  'timeline.js',
  'try.js',
  'words.js',
] as const

/** What the scripts import, and the file of the package that a browser takes for it. */
const LIBRARIES: Readonly<Record<string, string>> = {
  preact: 'preact/dist/preact.mjs',
  'preact/hooks': 'preact/hooks/dist/hooks.mjs',
  htm: 'htm/dist/htm.module.js',
  'htm/preact': 'htm/preact/index.module.js',
  '@preact/signals-core': '@preact/signals-core/dist/signals-core.mjs',
  '@preact/signals': '@preact/signals/dist/signals.mjs',
  uplot: 'uplot/dist/uPlot.esm.js',
}

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

interface File {
  readonly type: string
  readonly bytes: Buffer
}

/** Read at the first request: a gateway whose console nobody opens keeps none of it. */
export function addConsoleRoutes(app: FastifyInstance): void {
  let read: Map<string, File> | undefined
  const { html, policy } = page()
  app.get('/', async (_request, reply) => secured(reply, policy).type('text/html; charset=utf-8').send(html))
  app.get('/console/*', async (request, reply) => {
    const file = (read ??= files()).get((request.params as Readonly<Record<string, string>>)['*'] ?? '')
    if (file === undefined) return reply.callNotFound()
    return secured(reply, policy).type(file.type).send(file.bytes)
  })
}

/** Whether the address is one of these: they are asked for before anybody has shown a token. */
export function isConsolePage(path: string): boolean {
  return path === '/' || path.startsWith('/console/')
}

function secured(reply: FastifyReply, policy: string): FastifyReply {
  return reply
    .header('Content-Security-Policy', policy)
    .header('X-Content-Type-Options', 'nosniff')
    .header('Referrer-Policy', 'no-referrer')
    .header('Cache-Control', 'no-cache')
}

/** The import map is the one script that stands in the page: its hash lets it pass (CSP Level 3, 2.3.1). */
function page(): { html: string; policy: string } {
  const imports = Object.fromEntries(Object.keys(LIBRARIES).map((name) => [name, `./console/lib/${fileName(name)}`]))
  const map = JSON.stringify({ imports })
  const hash = createHash('sha256').update(map).digest('base64')
  const policy = [
    "default-src 'none'",
    `script-src 'self' 'sha256-${hash}'`,
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
  return { html: readFileSync(own('page.html'), 'utf8').replace(/\s*IMPORT_MAP\s*/, map), policy }
}

function files(): Map<string, File> {
  const all = new Map<string, File>()
  for (const name of OWN) all.set(name, { type: TYPES[name.split('.').at(-1)!]!, bytes: readFileSync(own(name)) })
  for (const [name, path] of Object.entries(LIBRARIES)) all.set(`lib/${fileName(name)}`, { type: TYPES['js']!, bytes: library(name, path) })
  all.set('lib/uplot.css', { type: TYPES['css']!, bytes: library('uplot', 'uplot/dist/uPlot.min.css') })
  return all
}

function fileName(name: string): string {
  return `${name.replace('@', '').replaceAll('/', '-')}.js`
}

function own(name: string): URL {
  return new URL(`./console/${name}`, import.meta.url)
}

/** The package lies wherever npm has put it: its folder is the one by its name on the way to what it resolves to. */
function library(name: string, path: string): Buffer {
  const packageName = name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/')
  const entry = fileURLToPath(import.meta.resolve(packageName)).replaceAll('\\', '/')
  const folder = entry.slice(0, entry.lastIndexOf(`node_modules/${packageName}/`) + 'node_modules/'.length)
  return readFileSync(folder + path)
}
