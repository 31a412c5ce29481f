// What a text says about time, and the one text that stands for it.
import type { Temporal as TemporalTypes } from 'temporal-polyfill'
import type { DateSetting } from '../../config/step-schema.ts'

export type TemporalApi = typeof TemporalTypes

/** An instant, or what the calendar and the clock of the rule's zone show. */
export type Moment =
  | { readonly kind: 'instant'; readonly instant: TemporalTypes.Instant }
  | {
      readonly kind: 'wall'
      readonly date: TemporalTypes.PlainDate
      readonly time?: TemporalTypes.PlainTime | undefined
      /** A part of the day, as its usual hour: `tomorrow evening` is no exact time, and not `tomorrow morning`. */
      readonly about?: number | undefined
    }

/**
 * A day is written as such. A time becomes an instant; one that the zone's clock shows twice or never becomes none, and stays
 * what the clock shows: it is equal to itself and to no instant. What has no time is never given one.
 */
export function writeMoment(moment: Moment, { zone, precision }: DateSetting): string {
  if (moment.kind === 'instant') return writeZoned(moment.instant.toZonedDateTimeISO(zone), precision)
  const { date, time, about } = moment
  if (precision === 'day') return date.toString()
  if (time === undefined) return about === undefined ? date.toString() : `${date.toString()}~${about}`
  const wall = date.toPlainDateTime(time)
  const [earlier, later] = [
    wall.toZonedDateTime(zone, { disambiguation: 'earlier' }),
    wall.toZonedDateTime(zone, { disambiguation: 'later' }),
  ]
  if (earlier.equals(later)) return writeZoned(earlier, precision)
  const exact = precision === undefined ? wall : wall.round({ smallestUnit: precision, roundingMode: 'trunc' })
  return `${exact.toString()}[${zone}]`
}

function writeZoned(zoned: TemporalTypes.ZonedDateTime, precision: DateSetting['precision']): string {
  if (precision === undefined) return zoned.toInstant().toString()
  if (precision === 'day') return zoned.toPlainDate().toString()
  return zoned.round({ smallestUnit: precision, roundingMode: 'trunc' }).toInstant().toString()
}
