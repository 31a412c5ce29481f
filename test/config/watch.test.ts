// A changed file is seen however it was changed: written, renamed over, or behind a symbolic link that was swapped.
import { appendFile, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { watchFiles } from '../../src/config/watch.ts'
import { temporaryDirectory } from '../helpers/temporary-directory.ts'
import { until } from '../helpers/until.ts'

async function watched(t: Test, options: { pollMs?: number } = { pollMs: 60_000 }) {
  const directory = await temporaryDirectory()
  t.teardown(directory.remove)
  const file = join(directory.path, 'oncegate.yaml')
  const changes: number[] = []
  const begin = (): void => {
    const watch = watchFiles(
      () => [file],
      () => void changes.push(Date.now()),
      options,
    )
    t.teardown(() => watch.close())
  }
  const seen = (n: number) => until(`change ${n} is seen`, () => changes.length >= n)
  return { path: directory.path, file, begin, changes, seen }
}

t.test('written in place, in several steps: seen once, when it is whole', async (t) => {
  const { file, begin, changes, seen } = await watched(t)
  await writeFile(file, 'one')
  begin()
  await writeFile(file, '')
  for (let n = 0; n < 10; n++) {
    await appendFile(file, `part ${n}\n`)
    await pause(20)
  }
  await seen(1)
  await pause(300)
  t.equal(changes.length, 1)
})

t.test('another file renamed over it, again and again', async (t) => {
  const { file, path, begin, changes, seen } = await watched(t)
  await writeFile(file, 'zero')
  begin()
  for (let n = 1; n <= 3; n++) {
    await writeFile(join(path, 'new'), `version ${n}`)
    await rename(join(path, 'new'), file)
    await seen(n)
  }
  t.equal(changes.length, 3)
})

t.test('the way Kubernetes swaps the data of a ConfigMap', async (t) => {
  const { file, path, begin, changes, seen } = await watched(t)
  const publish = async (n: number): Promise<void> => {
    await mkdir(join(path, `..data_${n}`))
    await writeFile(join(path, `..data_${n}`, 'oncegate.yaml'), `version ${n}`)
    await symlink(`..data_${n}`, join(path, '..data_tmp'))
    await rename(join(path, '..data_tmp'), join(path, '..data'))
    if (n > 0) await rm(join(path, `..data_${n - 1}`), { recursive: true })
  }
  await publish(0)
  await symlink(join('..data', 'oncegate.yaml'), file)
  begin()
  for (let n = 1; n <= 3; n++) {
    await publish(n)
    await seen(n)
  }
  t.equal(changes.length, 3)
})

t.test('written anew with the same content, or another file beside it: nothing has changed', async (t) => {
  const { file, path, begin, changes } = await watched(t)
  await writeFile(file, 'one')
  begin()
  await writeFile(file, 'one')
  await writeFile(join(path, 'other'), 'x')
  await pause(400)
  t.equal(changes.length, 0)
})

t.test('removed with its folder and made again: the poll finds it', async (t) => {
  const { file, path, begin, seen } = await watched(t, { pollMs: 50 })
  await writeFile(file, 'one')
  begin()
  await rm(path, { recursive: true })
  await seen(1)
  await mkdir(path)
  await writeFile(file, 'two')
  await seen(2)
})
