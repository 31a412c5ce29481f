// Durations and sizes mean one thing or are refused.
import { assert, property, stringMatching } from 'fast-check'
import t from 'tap'
import { DURATION_PATTERN, SIZE_PATTERN, parseDuration, parseSize } from '../../src/config/units.ts'

const DURATIONS: [string, number][] = [
  ['300ms', 300],
  ['1.5s', 1500],
  ['10m', 600_000],
  ['24h', 86_400_000],
  ['7d', 604_800_000],
]
for (const [text, ms] of DURATIONS) t.equal(parseDuration(text), ms, text)

const SIZES: [string, number][] = [
  ['512B', 512],
  ['64KiB', 65_536],
  ['1MiB', 1_048_576],
  ['5MB', 5_000_000],
  ['1kB', 1000],
  ['0.5GiB', 536_870_912],
]
for (const [text, bytes] of SIZES) t.equal(parseSize(text), bytes, text)

for (const text of ['', '10', '10M', '10 m', '-5m', '1h30m', '1e3s', '.5s', '5.s', '10S', '10min', '１０s', '5m\n']) {
  t.throws(() => parseDuration(text), RangeError, `${JSON.stringify(text)} is no duration`)
}
for (const text of ['10', '10M', '10K', '10mb', '10MIB', '10KB', '10 MiB', '-1B', '1e3B', '1MiB\n']) {
  t.throws(() => parseSize(text), RangeError, `${JSON.stringify(text)} is no size`)
}

t.test('what is accepted is one number and one unit that the other kind has not', async () => {
  const text = stringMatching(/^[0-9.eE+ -]{0,6}[a-zA-Z]{0,4}[0-9]{0,2}$/)
  assert(
    property(text, (candidate) => {
      const [duration, size] = [DURATION_PATTERN.test(candidate), SIZE_PATTERN.test(candidate)]
      if (duration && size) return false
      if (duration) return /^[0-9]+(\.[0-9]+)?(ms|s|m|h|d)$/.test(candidate) && Number.isFinite(parseDuration(candidate))
      if (size) return /^[0-9]+(\.[0-9]+)?(B|[KMG]iB|[kMG]B)$/.test(candidate) && Number.isFinite(parseSize(candidate))
      return true
    }),
    { numRuns: 5000 },
  )
})
