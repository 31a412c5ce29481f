// The image is built elsewhere; this holds the Dockerfile to what the image promises.
import t from 'tap'
import { isInRepository, readRepositoryFile } from './helpers/repository.ts'

interface Instruction {
  readonly name: string
  readonly text: string
}

const instructions = parse(readRepositoryFile('Dockerfile'))
const stages = splitStages(instructions)
const final = stages.at(-1) ?? []

function parse(text: string): Instruction[] {
  return text
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, name = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? []
      return { name: name.toUpperCase(), text: rest.trim() }
    })
}

function splitStages(all: readonly Instruction[]): Instruction[][] {
  const result: Instruction[][] = []
  for (const instruction of all) {
    if (instruction.name === 'FROM') result.push([])
    result.at(-1)?.push(instruction)
  }
  return result
}

function named(stage: readonly Instruction[], name: string): string[] {
  return stage.filter((instruction) => instruction.name === name).map((instruction) => instruction.text)
}

t.test('built in one stage, run in a smaller one without development packages', async (t) => {
  t.equal(stages.length, 2)
  t.same(
    stages.map((stage) => stage[0]?.text),
    ['node:24 AS builder', 'node:24-slim'],
  )
  t.match(named(final, 'RUN').join('\n'), /npm ci --omit=dev/)
  t.match(named(final, 'COPY'), ['package.json package-lock.json ./', '--from=builder /app/build/src ./build/src'])
})

t.test('runs as an ordinary user, who owns the data', async (t) => {
  t.same(named(final, 'USER'), ['node'])
  const names = final.map((instruction) => instruction.name)
  t.ok(names.lastIndexOf('RUN') < names.indexOf('USER'), 'nothing is installed by that user')
  t.match(named(final, 'RUN').join('\n'), /chown node:node \/data/)
  t.same(named(final, 'VOLUME'), ['/data'])
})

t.test('health is asked on the admin port, without a tool that the image lacks', async (t) => {
  const [health = ''] = named(final, 'HEALTHCHECK')
  t.match(health, /CMD \["node", "-e", "fetch\('http:\/\/127\.0\.0\.1:9080\/healthz'\)/)
  t.notMatch(health, /curl|wget/)
})

t.test('the gateway gets SIGTERM itself and listens where the ports are exposed', async (t) => {
  t.same(JSON.parse(named(final, 'ENTRYPOINT')[0] ?? ''), ['node', 'build/src/main.js'])
  const start = ['start', '--listen', '0.0.0.0:8080', '--admin', '0.0.0.0:9080', '--store', 'lmdb:/data']
  t.same(JSON.parse(named(final, 'CMD')[0] ?? ''), start)
  t.same(named(final, 'EXPOSE'), ['8080 9080'])
  t.same(named(final, 'STOPSIGNAL'), ['SIGTERM'])
})

t.test('every path that is copied from the repository is there and not ignored', async (t) => {
  const ignored = readRepositoryFile('.dockerignore').split('\n')
  const sources = named(instructions, 'COPY')
    .filter((text) => !text.startsWith('--from='))
    .flatMap((text) => text.split(/\s+/).slice(0, -1))
  t.ok(sources.length > 0)
  for (const source of sources) {
    t.ok(isInRepository(source), `${source} is there`)
    t.notOk(ignored.includes(source), `${source} is not ignored`)
  }
})
