// The unit: systemd takes it, it is walled in, and it starts what is there.
import { spawnSync } from 'node:child_process'
import t from 'tap'
import { isInRepository, readRepositoryFile, repositoryPath } from '../helpers/repository.ts'
import { checked, longestEndMs } from './deployment.ts'

const UNIT = 'deploy/systemd/oncegate.service'
const unit = new Map(
  readRepositoryFile(UNIT)
    .split('\n')
    .flatMap((line) => (/^\w+=/.test(line) ? [[line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)] as const] : [])),
)
const config = checked(readRepositoryFile('deploy/systemd/oncegate.yaml'))

const skip = process.platform === 'linux' ? false : 'no systemd'

t.test('systemd finds nothing wrong with it, and rates what it leaves open', { skip }, async (t) => {
  const analyze = (...args: string[]) => spawnSync('systemd-analyze', args, { cwd: repositoryPath(''), encoding: 'utf8' })
  const verified = analyze('verify', UNIT)
  t.same([verified.status, verified.stdout + verified.stderr], [0, ''], 'a key that it does not know is a warning')
  const rated = analyze('security', '--offline=true', '--threshold=15', UNIT)
  t.equal(rated.status, 0, `exposed by 1.5 of 10 at most: ${rated.stdout.trim().split('\n').at(-1)}`)
})

t.test('it starts the gateway, which writes where it may, and is given time to end', async (t) => {
  const [, program, configFile] = /^\/usr\/bin\/env node \/opt\/oncegate\/build\/(src\/.*)\.js start --config (\S+)$/.exec(
    unit.get('ExecStart')!,
  )!
  t.ok(isInRepository(`${program}.ts`))
  t.match(readRepositoryFile(UNIT), `${configFile}`)
  t.match(config.store, `lmdb:/var/lib/${unit.get('StateDirectory')}/`)
  t.ok(Number(/^(\d+)s$/.exec(unit.get('TimeoutStopSec')!)![1]) * 1000 > longestEndMs(config))
  t.equal(config.admin.host, '127.0.0.1')
})
