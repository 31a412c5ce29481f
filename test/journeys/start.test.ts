import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { testGateway } from '../helpers/gateway.ts'
import { PostgresServer } from '../helpers/postgres-server.ts'
import { RedisServer } from '../helpers/redis-server.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import { startUpstream } from '../helpers/upstream.ts'
import { within } from '../helpers/until.ts'

const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url))

async function run(args: string[]): Promise<{ code: number | null; said: string }> {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
  child.stdout.resume()
  try {
    const [code] = (await within('the process ends', once(child, 'close'), 15_000)) as [number | null]
    return { code, said }
  } finally {
    child.kill('SIGKILL')
  }
}

t.test('a port that is taken ends the start with a reason and code 1, whatever was open already', async (t) => {
  const upstream = await startUpstream()
  const redis = await RedisServer.start()
  const gateway = await testGateway({ upstream: upstream.url })
  t.teardown(async () => {
    await gateway.close()
    await redis.stop()
    await upstream.close()
  })
  const { code, said } = await run([
    'start',
    '--upstream',
    upstream.url,
    '--listen',
    `127.0.0.1:${gateway.port}`,
    '--admin',
    '127.0.0.1:0',
    '--store',
    redis.url,
  ])
  t.equal(code, 1)
  t.match(said, /could not start: .*EADDRINUSE/)
})

t.test('bad usage and a bad configuration end with code 2', async (t) => {
  for (const args of [['start', '--prot', '1'], ['begin'], ['start', '--upstream', 'localhost'], ['check', '/no/such/file.yaml']]) {
    const { code, said } = await run(args)
    t.equal(code, 2, `${args.join(' ')}: ${said}`)
  }
})

t.test('strict: what is only warned of without it ends the start with a reason and code 1', async (t) => {
  const upstream = await startUpstream()
  const forgetful = await RedisServer.start(['--appendonly', 'no', '--maxmemory-policy', 'allkeys-lru'])
  const sound = await RedisServer.start()
  const away = await RedisServer.prepare()
  t.teardown(async () => {
    for (const server of [forgetful, sound, away]) await server.stop()
    await upstream.close()
  })
  const start = async (store: string, top: string): Promise<string> => {
    try {
      const gateway = await testGateway({ upstream: upstream.url, store, top: `storeTimeout: 500ms\n${top}` })
      await gateway.close()
      return 'started'
    } catch (error) {
      return String(error)
    }
  }
  t.equal(await start(forgetful.url, ''), 'started')
  t.match(await start(forgetful.url, 'strict: true'), /strict: true .*allkeys-lru.*nothing on disk/)
  t.equal(await start(away.url, ''), 'started')
  t.match(await start(away.url, 'strict: true'), /out of reach/)
  t.equal(await start(sound.url, 'strict: true'), 'started')
  t.match(await start(sound.url, 'strict: true\nreplicasAck: 1'), /0 of the 1 replicas/)
  t.match(await start('memory:', 'strict: true'), /lost at a restart/)
  const database = await (await PostgresServer.shared()).database()
  t.teardown(database.drop)
  t.equal(await start(database.url, ''), 'started')
  t.match(await start(database.url, 'strict: true'), /power cut \(fsync is off\)/)
  const { code, said } = await run(['start', '--upstream', upstream.url, '--store', forgetful.url, '--config', await strictFile(t)])
  t.equal(code, 1)
  t.match(said, /could not start: strict: true/)
})

async function strictFile(t: Test): Promise<string> {
  const { path, remove } = await temporaryDirectory()
  t.teardown(remove)
  await writeFile(join(path, 'oncegate.yaml'), 'listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nstrict: true\n')
  return join(path, 'oncegate.yaml')
}
