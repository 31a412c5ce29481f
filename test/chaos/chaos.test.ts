// A short chaos run on every shared store, judged by the checker; the long ones are started by `npm run chaos`.
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { check } from './checker.ts'
import { figuresOf } from './figures.ts'
import { fromJsonLines, type HistoryEvent, toJsonLines } from './history.ts'
import { runChaos } from './run.ts'
import { drawSchedule } from './schedule.ts'
import { CHAOS_STORES } from './stores.ts'

t.setTimeout(300_000)

const SHORT = { gateways: 3, requests: 200, faults: 5, loadMs: 6000 }
/** CHAOS_SEED plays another one. */
const seed = Number(process.env.CHAOS_SEED ?? 4)

t.test('a seed draws the same schedule again, and another seed another', async (t) => {
  const { faultKinds } = CHAOS_STORES.redis!
  const draw = (seed: number) => JSON.stringify(drawSchedule({ ...SHORT, seed, faultKinds }))
  t.ok(draw(1) === draw(1))
  t.ok(draw(1) !== draw(2))
  t.equal(drawSchedule({ ...SHORT, seed, faultKinds }).faults.length, SHORT.faults)
})

t.test('every promise is kept', async (t) => {
  for (const [store, entry] of Object.entries(CHAOS_STORES)) {
    t.test(store, async (t) => {
      const history = await runChaos({ ...SHORT, store, seed }, entry)
      const violations = check(history)
      t.same(violations, [])
      if (violations.length > 0) t.comment(`history: ${await keep(history, store)}`)
      const figures = figuresOf(history)
      t.equal(figures.faults, SHORT.faults)
      t.ok(figures.executions! > 20, JSON.stringify(figures))
      t.same(check(fromJsonLines(toJsonLines(history))), violations, 'the history can be judged again from its file')
    })
  }
})

async function keep(history: readonly HistoryEvent[], store: string): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), 'oncegate-chaos-')), `${store}-${seed}.jsonl`)
  await writeFile(file, toJsonLines(history))
  return file
}
