import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { testGateway } from '../helpers/gateway.ts'
import { RedisServer } from '../helpers/redis-server.ts'
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
