// How times, durations, numbers and outcomes are said.

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
]

/** Two units at most: `4 min 12 s`, `12.4 s`, `340 ms`. */
export function duration(ms) {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  const at = UNITS.findIndex(([, length]) => ms >= length)
  const [unit, length] = UNITS[at]
  const [nextUnit, nextLength] = UNITS[at + 1]
  const rest = Math.floor((ms % length) / nextLength)
  return `${Math.floor(ms / length)} ${unit}${rest > 0 ? ` ${rest} ${nextUnit}` : ''}`
}

export function ago(iso, nowMs) {
  const ms = nowMs - Date.parse(iso)
  return ms < 2000 ? 'just now' : `${duration(Math.floor(ms / 1000) * 1000).replace('.0 s', ' s')} ago`
}

export function clock(iso) {
  return new Date(iso).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
}

export function count(number) {
  return number.toLocaleString('en-GB')
}

export function share(part, whole) {
  if (whole === 0) return '–'
  const percent = (100 * part) / whole
  return `${percent > 0 && percent < 10 ? percent.toFixed(1) : Math.round(percent)} %`
}

export const STATUS_WORDS = {
  unknown: 'Unknown',
  processing: 'Running',
  pending: 'Waiting',
  completed: 'Completed',
  failed: 'Failed',
  expired: 'Expired',
  removed: 'Forgotten',
}

/** The kinds that the rules page counts in; whatever is not named is a refusal. */
const KINDS = {
  executed: ['executed', 'broken', 'accepted', 'upstream-broken', 'upstream-timeout', 'upstream-unreachable'],
  replayed: ['replayed', 'attached'],
  inFlight: ['in-flight'],
  mismatch: ['key-reused'],
  passed: ['passed', 'unguarded'],
  neither: ['client-gone'],
}

/** Requests of a rule by kind, from their outcomes. */
export function kindsOf(outcomes) {
  const kinds = { executed: 0, replayed: 0, inFlight: 0, mismatch: 0, passed: 0, neither: 0, refused: 0 }
  for (const [outcome, number] of Object.entries(outcomes)) {
    const kind = Object.keys(KINDS).find((name) => KINDS[name].includes(outcome)) ?? 'refused'
    kinds[kind] += number
  }
  kinds.guarded = kinds.executed + kinds.replayed + kinds.inFlight + kinds.mismatch + kinds.refused
  return kinds
}
