// The rules of the house, as a checker: which room may import which, which package belongs to which room, names and sizes.

export interface SourceFile {
  /** Below src, with `/`: `stores/redis/redis-store.ts`. */
  readonly path: string
  readonly text: string
}

/** Imports go down only: a room may import itself and every lower floor, never its neighbour. */
const FLOORS: Readonly<Record<string, number>> = {
  model: 0,
  config: 1,
  fingerprint: 2,
  stores: 2,
  upstream: 2,
  observe: 2,
  idempotency: 3,
  http: 4,
  admin: 4,
  'gateway.ts': 5,
  cli: 6,
  'main.ts': 7,
}

/** The heart and all above it know the interface; only the one who builds the house knows a store. */
const KNOWS_STORES: readonly string[] = ['stores', 'gateway.ts', 'cli', 'main.ts']
const STORE_INTERFACES: readonly string[] = ['stores/store.ts', 'stores/spool.ts']

/** Where a package may be imported: a room or a folder (`/` at the end), or one file. `@fastify/` stands for every plugin. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  ioredis: ['stores/redis/'],
  lmdb: ['stores/lmdb/'],
  pg: ['stores/postgres/'],
  'pg-connection-string': ['stores/postgres/'],
  '@fastify/http-proxy': ['http/'],
  '@fastify/busboy': ['fingerprint/'],
  '@fastify/': ['http/', 'admin/'],
  fastify: ['http/', 'admin/'],
  yaml: ['config/'],
  zod: ['config/'],
  'json-p3': ['config/', 'fingerprint/'],
  re2js: ['config/'],
  'chrono-node': ['fingerprint/dates/'],
  'temporal-polyfill': ['fingerprint/dates/'],
  jose: ['http/'],
  undici: ['upstream/'],
  pino: ['observe/'],
  'prom-client': ['observe/'],
  '@opentelemetry/': ['observe/'],
  // The browser's, which the console hands out.
  preact: ['admin/console/'],
  '@preact/': ['admin/console/'],
  htm: ['admin/console/'],
  uplot: ['admin/console/'],
  commander: ['cli/', 'main.ts'],
}

const MAX_LINES = 350
const KEBAB_CASE = /^[a-z0-9]+(-[a-z0-9]+)*$/

/** Every broken rule as a sentence that names the file; none when the house stands. */
export function brokenRules(files: readonly SourceFile[]): string[] {
  const paths = new Set(files.map((file) => file.path))
  const broken = files.flatMap((file) => [
    ...brokenForm(file),
    ...importsOf(file.text).flatMap((target) => brokenImport(file, target, paths)),
  ])
  return [...broken, ...cycles(files)]
}

function brokenForm({ path, text }: SourceFile): string[] {
  const broken: string[] = []
  if (!(roomOf(path) in FLOORS)) broken.push(`${path}: ${roomOf(path)} is on no floor`)
  if (/(^|\/)index\.\w+$/.test(path)) broken.push(`${path}: a barrel file`)
  const badName = path.split('/').find((part) => !KEBAB_CASE.test(part.replace(/(\.d)?\.ts$/, '')))
  if (badName !== undefined) broken.push(`${path}: ${badName} is not in kebab-case`)
  const lines = text.trimEnd().split('\n').length
  if (lines > MAX_LINES) broken.push(`${path}: ${lines} lines, at most ${MAX_LINES}`)
  return broken
}

function brokenImport({ path }: SourceFile, target: string, paths: ReadonlySet<string>): string[] {
  if (target.startsWith('node:')) return []
  return target.startsWith('.') ? brokenRelativeImport(path, target, paths) : brokenPackageImport(path, target)
}

function brokenRelativeImport(path: string, target: string, paths: ReadonlySet<string>): string[] {
  const resolved = resolve(path, target)
  if (!paths.has(resolved)) return [`${path}: imports ${target}, which is no source file`]
  const [from, to] = [roomOf(path), roomOf(resolved)]
  if (from === to) return []
  if ((FLOORS[to] ?? 0) >= (FLOORS[from] ?? 0)) return [`${path}: imports ${resolved}, which is not on a lower floor`]
  if (to === 'stores' && !STORE_INTERFACES.includes(resolved) && !KNOWS_STORES.includes(from)) {
    return [`${path}: imports ${resolved}, but may know only ${STORE_INTERFACES.join(' and ')}`]
  }
  return []
}

function brokenPackageImport(path: string, target: string): string[] {
  const name = /^(@[^/]+\/)?[^/]+/.exec(target)?.[0] ?? target
  const rooms = PACKAGES[name] ?? PACKAGES[name.slice(0, name.indexOf('/') + 1)]
  if (rooms === undefined || rooms.some((room) => path === room || (room.endsWith('/') && path.startsWith(room)))) return []
  return [`${path}: imports ${name}, which belongs to ${rooms.join(' and ')}`]
}

/** What a file imports or exports on: static, for its types, for its effect, or later by `import()`. */
export function importsOf(text: string): string[] {
  const code = text.replace(/^\s*\/\*[\s\S]*?\*\//gm, '').replace(/^\s*\/\/.*$/gm, '')
  const patterns = [
    /^\s*(?:import|export)\s[^'"`;()]*?\bfrom\s*['"]([^'"]+)['"]/gm,
    /^\s*import\s*['"]([^'"]+)['"]/gm,
    /\b(?:import|require)\(\s*['"]([^'"]+)['"]/g,
  ]
  return patterns.flatMap((pattern) => [...code.matchAll(pattern)].flatMap((found) => found[1] ?? []))
}

function cycles(files: readonly SourceFile[]): string[] {
  const graph = new Map(files.map((file) => [file.path, importsOf(file.text).map((target) => resolve(file.path, target))]))
  const done = new Set<string>()
  const found: string[] = []
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) {
      found.push(`a cycle: ${[...trail.slice(trail.indexOf(path)), path].join(' → ')}`)
      return
    }
    if (done.has(path)) return
    for (const target of graph.get(path) ?? []) visit(target, [...trail, path])
    done.add(path)
  }
  for (const path of graph.keys()) visit(path, [])
  return found
}

/** `stores/redis/a.ts` → `stores`; a file directly below src is its own room. */
function roomOf(path: string): string {
  return path.split('/')[0] ?? path
}

function resolve(from: string, target: string): string {
  if (!target.startsWith('.')) return target
  const parts = from.split('/').slice(0, -1)
  for (const part of target.split('/')) {
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..') parts.pop()
    else if (part !== '.') parts.push(part)
  }
  return parts.join('/')
}
