// `oncegate start` takes up a changed file by itself, and at SIGHUP; files that it includes, and plugins, count as its own.
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { send } from '../helpers/client.ts'
import { startedProcess } from '../helpers/gateway-process.ts'
import { SHARED_STORES } from '../helpers/shared-store.ts'
import { fingerprintOf, replayed } from '../helpers/stage.ts'
import { until } from '../helpers/until.ts'
import { startUpstream } from '../helpers/upstream.ts'

const rule = (part: string) => `
  - name: pay
    match: { path: /pay }
    owner: none
    fingerprint: { order: ${part} }
`

async function started(t: Test, files: Record<string, string>, store = 'memory') {
  const directory = await mkdtemp(join(tmpdir(), 'oncegate-config-'))
  const upstream = await startUpstream()
  const top = `listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nupstream: ${upstream.url}\nstore: ${store}\n`
  /** As editors do: whole, under another name first. */
  const write = async (name: string, text: string): Promise<void> => {
    await writeFile(join(directory, 'new'), name === 'oncegate.yaml' || name === 'next.yaml' ? top + text : text)
    await rename(join(directory, 'new'), join(directory, name))
  }
  for (const [name, text] of Object.entries(files)) await write(name, text)
  const gateway = await startedProcess(['--config', join(directory, 'oncegate.yaml')])
  t.teardown(async () => {
    await gateway.kill()
    await upstream.close()
    await rm(directory, { recursive: true, force: true })
  })
  const reloads = () => gateway.log.filter(({ msg }) => String(msg).startsWith('the configuration was'))
  const reloaded = (n: number) => until(`reload ${n}`, () => reloads().length >= n)
  const pay = (order: number) => send(`${gateway.url}/pay`, { body: { order } })
  return { gateway, upstream, path: (name: string) => join(directory, name), write, reloads, reloaded, pay }
}

t.test('a changed file, a bad one, and a good one again', async (t) => {
  const { write, pay, reloads, reloaded, upstream } = await started(t, { 'oncegate.yaml': `rules:${rule('body.order')}` })
  await pay(1)
  await write('oncegate.yaml', `rules:${rule('body.order').replace('name: pay', 'name: payments')}`)
  await reloaded(1)
  t.ok(replayed(await pay(1)))
  await write('oncegate.yaml', 'rules: [')
  await reloaded(2)
  t.match(reloads()[1], { level: 50, mistakes: [/oncegate.yaml:\d+:\d+/] })
  t.ok(replayed(await pay(1)))
  await write('oncegate.yaml', `rules:${rule('body.order')}`)
  await reloaded(3)
  t.match(reloads()[2], { level: 30, trigger: 'a file has changed' })
  t.ok(replayed(await pay(1)))
  t.equal(upstream.count(), 1)
})

t.test('an included file, and a plugin of its rules', async (t) => {
  const plugin = (text: string) => `export default (value) => '${text}' + value\n`
  const { write, pay, reloaded, upstream } = await started(t, {
    'oncegate.yaml': 'include: [rules.yaml]\nrules: [{ name: other, match: { path: /other }, fingerprint: { a: body.a } }]\n',
    'rules.yaml': `rules:${rule('{ from: body.order, apply: [{ plugin: ./mine.mjs }] }')}`,
    'mine.mjs': plugin('one'),
  })
  const first = fingerprintOf(await pay(1))
  await write('mine.mjs', plugin('two'))
  await reloaded(1)
  t.ok(replayed(await pay(1)), 'looked for as the plugin was')
  await write('rules.yaml', `rules:${rule('body.order')}`)
  await reloaded(2)
  const again = await pay(1)
  t.ok(replayed(again))
  t.equal(fingerprintOf(again), first)
  t.equal(upstream.count(), 1)
})

t.test('SIGHUP reads the file anew, and does not end the gateway', async (t) => {
  const { gateway, pay } = await started(t, { 'oncegate.yaml': `rules:${rule('body.order')}` })
  gateway.signal('SIGHUP')
  await until('it was read', () => gateway.log.some(({ trigger }) => trigger === 'SIGHUP'))
  t.equal((await pay(1)).status, 200)
})

t.test('gateways that are replaced one by one, with the rules before named in the new file', async (t) => {
  const store = await SHARED_STORES.lmdb()
  t.teardown(store.remove)
  const { write, pay, upstream, path } = await started(t, { 'oncegate.yaml': `rules:${rule('body.order')}` }, store.url)
  await pay(1)
  await write(
    'next.yaml',
    `previous: [oncegate.yaml]\nrules:${rule('{ from: body.order, apply: [string] }').replace('name: pay', 'name: payments')}`,
  )
  const next = await startedProcess(['--config', path('next.yaml')])
  t.teardown(() => next.kill())
  const payThere = (order: number) => send(`${next.url}/pay`, { body: { order } })
  t.ok(replayed(await payThere(1)), 'what the one before has executed')
  t.notOk(replayed(await payThere(2)))
  t.ok(replayed(await pay(2)), 'and the other way round')
  t.equal(upstream.count(), 2)
})
