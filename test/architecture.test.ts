// The floors of the house hold, and the checker that says so sees a planted crack.
import t from 'tap'
import { brokenRules, importsOf, type SourceFile } from './helpers/floors.ts'
import { filesBelow, readRepositoryFile } from './helpers/repository.ts'

t.test('src keeps its floors, its drivers in their rooms, its names and sizes', async (t) => {
  const files = filesBelow('src')
    .filter((path) => path.endsWith('.ts'))
    .map((path) => ({ path, text: readRepositoryFile(`src/${path}`) }))
  t.ok(files.length > 5, 'there are sources')
  t.same(brokenRules(files), [])
})

/** Small houses: path → text. Whatever they import below src is there, empty, unless given. */
function house(files: Record<string, string>): SourceFile[] {
  const given = Object.entries(files).map(([path, text]) => ({ path, text }))
  const empty = ['model/record.ts', 'config/schema.ts', 'stores/store.ts', 'stores/open-store.ts', 'stores/redis/redis-store.ts']
  const more = [...empty, 'fingerprint/hash.ts', 'upstream/forward.ts', 'idempotency/refuse.ts', 'http/problem.ts', 'gateway.ts']
  return [...given, ...more.filter((path) => !(path in files)).map((path) => ({ path, text: '' }))]
}

t.test('what the house allows passes', async (t) => {
  const allowed = house({
    'config/schema.ts': "import { z } from 'zod'\nimport type { A } from '../model/record.ts'",
    'stores/redis/redis-store.ts': "import { Redis } from 'ioredis'\nimport type { Store } from '../store.ts'",
    'stores/open-store.ts': "const { openRedis } = await import('./redis/redis-store.ts')",
    'idempotency/execute.ts': "import type { Store } from '../stores/store.ts'\nimport { hash } from '../fingerprint/hash.ts'",
    'http/proxy-routes.ts': "import proxy from '@fastify/http-proxy'\nimport { refuse } from '../idempotency/refuse.ts'",
    'admin/server.ts': "import fastify from 'fastify'\nimport { readFile } from 'node:fs/promises'",
    'gateway.ts': "import { openStore } from './stores/open-store.ts'\nimport { a } from './http/proxy-routes.ts'",
    'cli/start.ts': "import { gateway } from '../gateway.ts'",
    'main.ts': "import { Command } from 'commander'\nimport { start } from './cli/start.ts'",
  })
  t.same(brokenRules(allowed), [])
})

const cracks: Record<string, [files: Record<string, string>, complaint: RegExp]> = {
  'an import that goes up': [{ 'model/a.ts': "import type { X } from '../config/schema.ts'" }, /model\/a\.ts: .*lower floor/],
  'a neighbour on the same floor': [{ 'upstream/a.ts': "import { hash } from '../fingerprint/hash.ts'" }, /upstream\/a\.ts: .*lower floor/],
  'a dynamic import that goes up': [{ 'stores/a.ts': "const x = await import('../http/problem.ts')" }, /stores\/a\.ts: .*lower floor/],
  'an export from above': [{ 'config/a.ts': "export { hash } from '../fingerprint/hash.ts'" }, /config\/a\.ts: .*lower floor/],
  'the gateway known from below': [{ 'http/a.ts': "import { g } from '../gateway.ts'" }, /http\/a\.ts: .*lower floor/],
  'a store known to the heart': [
    { 'idempotency/a.ts': "import { R } from '../stores/redis/redis-store.ts'" },
    /may know only stores\/store\.ts/,
  ],
  'a store known to the admin room': [{ 'admin/a.ts': "import { o } from '../stores/open-store.ts'" }, /may know only stores\/store\.ts/],
  'a driver out of its room': [{ 'stores/lmdb/a.ts': "import { Redis } from 'ioredis'" }, /ioredis, which belongs to stores\/redis\//],
  'a part of a package': [{ 'http/a.ts': "import { z } from 'zod/v4'" }, /zod, which belongs to config\//],
  'fastify in the heart': [{ 'idempotency/a.ts': "import type { FastifyReply } from 'fastify'" }, /fastify, which belongs to/],
  'a fastify plugin in a store': [{ 'stores/a.ts': "import x from '@fastify/under-pressure'" }, /@fastify\/under-pressure, which belongs/],
  'the proxy in the admin room': [{ 'admin/a.ts': "import x from '@fastify/http-proxy'" }, /http-proxy, which belongs to http\/$/],
  'a driver loaded late': [{ 'http/a.ts': "const { open } = await import('lmdb')" }, /lmdb, which belongs to/],
  'tests known to the source': [{ 'http/a.ts': "import { x } from '../../test/helpers/floors.ts'" }, /no source file/],
  'a room that is on no floor': [{ 'utils/a.ts': '' }, /utils is on no floor/],
  'a barrel file': [{ 'http/index.ts': '' }, /barrel/],
  'a name in another case': [{ 'http/rawBody.ts': '' }, /kebab-case/],
  'a folder in another case': [{ 'stores/Redis/a.ts': '' }, /kebab-case/],
  'a file that is too long': [{ 'http/a.ts': '//\n'.repeat(351) }, /351 lines/],
  'a cycle in one room': [
    {
      'http/a.ts': "import { b } from './b.ts'",
      'http/b.ts': "import type { c } from './c.ts'",
      'http/c.ts': "import { a } from './a.ts'",
    },
    /cycle: http\/a\.ts → http\/b\.ts → http\/c\.ts → http\/a\.ts/,
  ],
}

for (const [name, [files, complaint]] of Object.entries(cracks)) {
  t.test(`a planted crack is seen: ${name}`, async (t) => {
    const broken = brokenRules(house(files))
    t.equal(broken.length, 1, broken.join('\n'))
    t.match(broken[0], complaint)
  })
}

t.test('imports are found in every form, and not in comments', async (t) => {
  const text = [
    "// import a from 'no-1'",
    "/* import a from 'no-2' */",
    "import a from 'one'",
    'import {\n  b,\n  type C,\n} from "two"',
    "import type D from 'three'",
    "export * from 'four'",
    "import 'five'",
    "const e = import('six')",
    "export const text = 'imported from here'",
  ].join('\n')
  t.same(importsOf(text).toSorted(), ['five', 'four', 'one', 'six', 'three', 'two'])
})
