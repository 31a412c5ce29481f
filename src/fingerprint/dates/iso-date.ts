// Dates in digits: ISO 8601, RFC 3339, and the year-first spellings with / and 年月日.
import type { Moment, TemporalApi } from './moment.ts'

const DATE = String.raw`(\d{4})(?:-(\d{1,2})-(\d{1,2})|/(\d{1,2})/(\d{1,2})|年(\d{1,2})月(\d{1,2})[日号號]?)`
const TIME = String.raw`(?:[Tt ]\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*([Zz]|[+-]\d{2}:?\d{2})?)?`
const WHOLE = new RegExp(`^${DATE}${TIME}$`)

/** Undefined where the text is not in this form; `invalid` where it is, and no calendar has the day. */
export function readIsoDate(text: string, Temporal: TemporalApi): Moment | 'invalid' | undefined {
  const found = WHOLE.exec(text)
  if (found === null) return undefined
  const [, year, m1, d1, m2, d2, m3, d3, hour, minute, second = '0', fraction = '', offset] = found
  const [month, day] = [m1 ?? m2 ?? m3, d1 ?? d2 ?? d3]
  try {
    const date = Temporal.PlainDate.from({ year: Number(year), month: Number(month), day: Number(day) }, { overflow: 'reject' })
    if (hour === undefined) return { kind: 'wall', date }
    const nanoseconds = Number(fraction.padEnd(9, '0'))
    const time = Temporal.PlainTime.from(
      {
        hour: Number(hour),
        minute: Number(minute),
        second: Number(second),
        millisecond: Math.floor(nanoseconds / 1e6),
        microsecond: Math.floor(nanoseconds / 1000) % 1000,
        nanosecond: nanoseconds % 1000,
      },
      { overflow: 'reject' },
    )
    if (offset === undefined) return { kind: 'wall', date, time }
    return { kind: 'instant', instant: date.toPlainDateTime(time).toZonedDateTime(offsetZone(offset)).toInstant() }
  } catch {
    return 'invalid'
  }
}

function offsetZone(offset: string): string {
  if (offset.toUpperCase() === 'Z') return '+00:00'
  return offset.includes(':') ? offset : `${offset.slice(0, 3)}:${offset.slice(3)}`
}
