// The recognition of business facts: of each pair of requests, whether they share a record, and whether their content agrees.
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import type { Operation } from '../../src/model/operation.ts'
import { identifierOf, type Asked, type Identity } from './identifier.ts'
import { KINDS } from './pairs/all-kinds.ts'
import type { Fact, Kind, Variants } from './pairs/kind.ts'

type Verdict = 'same' | 'conflict' | 'different'

// Compiled, this file stands in build/test/fingerprint.
const presets = fileURLToPath(new URL('../../../config/presets/', import.meta.url))

/** As the stores see it: the record is shared where each looks under the other's name. */
function verdictOf(one: Identity, other: Identity): string {
  if (one.kind !== 'guarded' || other.kind !== 'guarded') return `not guarded: ${JSON.stringify([one, other])}`
  const names = ({ fingerprint, aliases = [] }: Operation): string[] => [fingerprint, ...aliases]
  const seen = names(one.operation).includes(other.operation.fingerprint)
  if (seen !== names(other.operation).includes(one.operation.fingerprint)) return 'seen by one of the two only'
  if (!seen) return 'different'
  return one.operation.digest === other.operation.digest ? 'same' : 'conflict'
}

async function identifierFor(t: Test, { preset, rules = '', files = {} }: Kind): Promise<(asked: Asked) => Promise<Identity>> {
  if (preset !== undefined) return identifierOf({ file: `${presets}${preset}.yaml` })
  const folder = t.testdir({ ...files })
  const file = join(folder, 'rules.yaml')
  writeFileSync(file, rules)
  return identifierOf({ file })
}

function pairsOf({ same, conflict = {}, different }: Fact): [verdict: Verdict, variants: Variants][] {
  return [
    ['same', same],
    ['conflict', conflict],
    ['different', different],
  ]
}

const count = { pairs: 0, right: 0 }

for (const kind of KINDS) {
  t.test(kind.name, async (t) => {
    const identified = await identifierFor(t, kind)
    for (const fact of kind.facts) {
      const one = await identified(fact.request)
      for (const [verdict, variants] of pairsOf(fact)) {
        for (const [label, asked] of Object.entries(variants)) {
          const found = verdictOf(one, await identified(asked))
          count.pairs += 1
          if (t.equal(found, verdict, label)) count.right += 1
        }
      }
    }
    for (const asked of kind.passing ?? []) t.match((await identified(asked)).kind, /^un(?:guarded|matched)$/, 'passes')
  })
}

t.test('the table is large enough, and every pair in it is right', async (t) => {
  t.ok(KINDS.length >= 12, `${KINDS.length} kinds of facts`)
  t.ok(count.pairs >= 200, `${count.pairs} pairs`)
  const share = ((100 * count.right) / count.pairs).toFixed(1)
  t.comment(`measured: BSU recognition accuracy (BRA) ${share} %: ${count.right} of ${count.pairs} pairs, ${KINDS.length} kinds of facts`)
  t.equal(count.right, count.pairs)
})

t.test('every preset is in the table', async (t) => {
  const names = readdirSync(presets).map((file) => file.replace(/\.yaml$/, ''))
  t.same(KINDS.flatMap(({ preset = [] }) => preset).toSorted(), names.toSorted())
})
