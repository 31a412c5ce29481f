// Dates in words, as chrono-node reads them, kept from its dependence on the process's own zone.
import type * as Chrono from 'chrono-node'
import type { Temporal as TemporalTypes } from 'temporal-polyfill'
import type { DateSetting } from '../../config/step-schema.ts'
import { CHINESE_SPAN } from './chinese-time.ts'
import type { Moment, TemporalApi } from './moment.ts'

export type ChronoApi = typeof Chrono
type Components = Chrono.ParsingComponents | Chrono.ParsedComponents

/**
 * No zone has this offset, so that it marks what the library counts from its reference. The reference is noon, which no clock
 * change touches; the library gives spans in hours as a distance from it.
 */
const MARK_MINUTES = 733
const NOON_MINUTES = 720

export interface Received {
  readonly instant: TemporalTypes.Instant
  /** In the rule's zone. */
  readonly today: TemporalTypes.PlainDate
}

/** Undefined unless the whole text is one date. */
export function readLibraryDate(
  text: string,
  locale: DateSetting['locales'][number],
  received: Received,
  tools: { readonly chrono: ChronoApi; readonly Temporal: TemporalApi },
): Moment | undefined {
  const { today } = received
  const noon = Date.UTC(today.year, today.month - 1, today.day) + (NOON_MINUTES - MARK_MINUTES) * 60_000
  const found = parserOf(locale, tools.chrono).parse(text, { instant: new Date(noon), timezone: MARK_MINUTES })
  const [only] = found
  if (only === undefined || found.length > 1 || only.index !== 0 || only.text.length !== text.length || only.end) return undefined
  // Times in Chinese are read elsewhere, and the library's are not right.
  if (locale === 'zh' && (only.start.isCertain('hour') || CHINESE_SPAN.test(text))) return undefined
  try {
    return momentOf(only.start, received, tools.Temporal)
  } catch {
    return undefined
  }
}

function parserOf(locale: DateSetting['locales'][number], chrono: ChronoApi): Pick<Chrono.Chrono, 'parse'> {
  return locale === 'en-GB' ? chrono.en.GB : chrono[locale]
}

function momentOf(parsed: Components, { instant, today }: Received, Temporal: TemporalApi): Moment {
  const of = (name: Chrono.Component): number => parsed.get(name) ?? 0
  const date = Temporal.PlainDate.from({ year: of('year'), month: of('month'), day: of('day') }, { overflow: 'reject' })
  if (!parsed.isCertain('hour')) {
    const about = parsed.get('hour') === 12 ? undefined : (parsed.get('hour') ?? undefined)
    return { kind: 'wall', date, about }
  }
  const time = Temporal.PlainTime.from(
    { hour: of('hour'), minute: of('minute'), second: of('second'), millisecond: of('millisecond') },
    { overflow: 'reject' },
  )
  const offset = parsed.isCertain('timezoneOffset') ? parsed.get('timezoneOffset') : null
  if (offset === null) return { kind: 'wall', date, time }
  const wall = date.toPlainDateTime(time)
  if (offset === MARK_MINUTES)
    return { kind: 'instant', instant: instant.add(today.toPlainDateTime('12:00').until(wall, { largestUnit: 'hours' })) }
  return { kind: 'instant', instant: wall.toZonedDateTime('UTC').toInstant().subtract({ minutes: offset }) }
}
