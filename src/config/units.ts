// Durations and sizes as people write them; anything ambiguous is refused (`10M` is neither minutes nor mebibytes).

const DURATION_UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const SIZE_UNITS: Readonly<Record<string, number>> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, kB: 1000, MB: 1e6, GB: 1e9 }

/** One number and one unit: `300ms`, `1.5s`, `10m`, `24h`, `7d`. */
export const DURATION_PATTERN = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/
/** One number and one unit: `512B`, `64KiB`, `1MiB`, `5MB`. */
export const SIZE_PATTERN = /^(\d+(?:\.\d+)?)(B|KiB|MiB|GiB|kB|MB|GB)$/

/** Milliseconds of a text that matches DURATION_PATTERN. */
export function parseDuration(text: string): number {
  return parse(text, DURATION_PATTERN, DURATION_UNITS)
}

/** Bytes of a text that matches SIZE_PATTERN. */
export function parseSize(text: string): number {
  return parse(text, SIZE_PATTERN, SIZE_UNITS)
}

function parse(text: string, pattern: RegExp, units: Readonly<Record<string, number>>): number {
  const [, amount, unit] = pattern.exec(text) ?? []
  const factor = unit === undefined ? undefined : units[unit]
  if (amount === undefined || factor === undefined) throw new RangeError(`not a number with a unit: ${text}`)
  return Math.round(Number(amount) * factor)
}
