// The command line of the chaos runs: rounds of one store after another, each judged; ends with 1 where a promise was broken.
import { readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { check } from './checker.ts'
import { type Figures, figuresOf, sumOf } from './figures.ts'
import { fromJsonLines, toJsonLines } from './history.ts'
import { runChaos } from './run.ts'
import { CHAOS_STORES } from './stores.ts'

const { values } = parseArgs({
  options: {
    store: { type: 'string', multiple: true, default: Object.keys(CHAOS_STORES) },
    seed: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '1' },
    gateways: { type: 'string', default: '3' },
    requests: { type: 'string', default: '2000' },
    faults: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '20' },
    keep: { type: 'string' },
    check: { type: 'string' },
  },
})

let broken = 0
if (values.check === undefined) {
  for (const store of values.store) await playRounds(store)
} else {
  judge(fromJsonLines(await readFile(values.check, 'utf8')))
}
process.exitCode = broken > 0 ? 1 : 0

async function playRounds(store: string): Promise<void> {
  const entry = CHAOS_STORES[store]
  if (entry === undefined) throw new RangeError(`--store is one of ${Object.keys(CHAOS_STORES).join(', ')}`)
  const figures: Figures[] = []
  for (let round = 0; round < Number(values.rounds); round++) {
    const seed = Number(values.seed) + round
    const { gateways, requests, faults, seconds } = values
    const history = await runChaos(
      { store, seed, gateways: Number(gateways), requests: Number(requests), faults: Number(faults), loadMs: Number(seconds) * 1000 },
      entry,
    )
    console.log(`${store}, seed ${seed}: ${history.length} events`)
    const well = judge(history)
    if (values.keep !== undefined || !well) {
      const file = join(values.keep ?? tmpdir(), `chaos-${store}-${seed}.jsonl`)
      await writeFile(file, toJsonLines(history))
      console.log(`  history: ${file}`)
    }
    figures.push(figuresOf(history))
  }
  console.log(`${store}: ${JSON.stringify(sumOf(figures), undefined, 2)}`)
}

function judge(history: Parameters<typeof check>[0]): boolean {
  const violations = check(history)
  for (const violation of violations) console.log(`  BROKEN ${violation.check}: ${violation.what}`)
  broken += violations.length
  return violations.length === 0
}
