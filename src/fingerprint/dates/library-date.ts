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
  const parser = parserOf(locale, tools.chrono)
  const { year, month, day } = received.today
  // Much of the library counts from what its reference shows on the process's own clock: there it is noon of the rule's day.
  const noon = new Date(year, month - 1, day, 12)
  let found = parser.parse(text, { instant: noon })
  if (found[0]?.start.isCertain('timezoneOffset') === true) {
    const marked = Date.UTC(year, month - 1, day) + (NOON_MINUTES - MARK_MINUTES) * 60_000
    found = parser.parse(text, { instant: new Date(marked), timezone: MARK_MINUTES })
  }
  const [only] = found
  if (only === undefined || found.length > 1 || only.index !== 0 || only.text.length !== text.length || only.end) return undefined
  // Times in Chinese are read elsewhere, and the library's are not right.
  if (locale === 'zh' && (only.start.isCertain('hour') || CHINESE_SPAN.test(text))) return undefined
  try {
    const moment = momentOf(only.start, received, tools.Temporal)
    return isBareWeekday(only.start, text, locale, tools.chrono) ? comingNext(moment, received) : moment
  } catch {
    return undefined
  }
}

function parserOf(locale: DateSetting['locales'][number], chrono: ChronoApi): Pick<Chrono.Chrono, 'parse'> {
  return locale === 'en-GB' ? chrono.en.GB : chrono[locale]
}

const SUNDAY = Date.UTC(2024, 4, 19)
/** By locale and weekday (0 is Sunday): the full name, then the short one, which may begin it. Making them takes longer than reading a date. */
const WEEKDAYS = new Map<string, readonly (readonly string[])[]>()

function weekdayNames(locale: string): readonly (readonly string[])[] {
  const known = WEEKDAYS.get(locale)
  if (known !== undefined) return known
  const formats = (['long', 'short'] as const).map((weekday) => new Intl.DateTimeFormat(locale, { weekday, timeZone: 'UTC' }))
  const names = Array.from({ length: 7 }, (_, day) => formats.map((format) => format.format(SUNDAY + day * 86_400_000).toLowerCase()))
  WEEKDAYS.set(locale, names)
  return names
}

/** A weekday by its name alone, perhaps with a time: of the nearest two, which the library takes, wishes mean the one that comes. */
function isBareWeekday(parsed: Components, text: string, locale: DateSetting['locales'][number], chrono: ChronoApi): boolean {
  const weekday = parsed.get('weekday')
  if (weekday === null || !parsed.isCertain('weekday') || parsed.isCertain('day')) return false
  // With or without a word before it, as in `on Friday`; the words that make it another Friday are longer.
  const bare = text.toLowerCase().replace(/^\p{L}{1,2}\s+/u, '')
  const name = weekdayNames(locale)[weekday]?.find((each) => bare.startsWith(each))
  if (name === undefined) return false
  const rest = bare.slice(name.length).replace(/^[.,\s]+/, '')
  return rest === '' || /^(?:\p{L}{1,3}\s+)?\d/u.test(rest) || isPartOfDay(rest, parserOf(locale, chrono))
}

/** `morning`, but not `next week`. */
function isPartOfDay(text: string, parser: Pick<Chrono.Chrono, 'parse'>): boolean {
  // Any noon will do: only what kind of thing was said is asked.
  const [found] = parser.parse(text, { instant: new Date(2024, 4, 20, 12) })
  if (found === undefined || found.text.length !== text.length) return false
  const { start } = found
  return !start.isCertain('day') && !start.isCertain('weekday') && (start.isCertain('hour') || aboutOf(start) !== undefined)
}

function comingNext(moment: Moment, { today }: Received): Moment {
  if (moment.kind !== 'wall' || today.until(moment.date).days >= 0) return moment
  return { ...moment, date: moment.date.add({ days: 7 }) }
}

function momentOf(parsed: Components, { instant, today }: Received, Temporal: TemporalApi): Moment {
  const of = (name: Chrono.Component): number => parsed.get(name) ?? 0
  const said = Temporal.PlainDate.from({ year: of('year'), month: of('month'), day: of('day') }, { overflow: 'reject' })
  const yearless = parsed.isCertain('month') && parsed.isCertain('day') && !parsed.isCertain('year')
  const date = yearless ? inNearestYear(said, today) : said
  if (!parsed.isCertain('hour')) return { kind: 'wall', date, about: aboutOf(parsed) }
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

/** The usual hour of a part of the day. Twelve stands for no time, unless half of the day is said with it: that is a word for noon. */
function aboutOf(parsed: Components): number | undefined {
  const hour = parsed.get('hour') ?? 12
  return hour === 12 && parsed.get('meridiem') !== 0 ? undefined : hour
}

/** Around a turn of the year, 1月2日 is as near as `Jan 2`. */
function inNearestYear(date: TemporalTypes.PlainDate, today: TemporalTypes.PlainDate): TemporalTypes.PlainDate {
  const distance = (other: TemporalTypes.PlainDate): number => Math.abs(today.until(other).days)
  return [-1, 1].reduce((nearest, years) => {
    const other = date.add({ years })
    return other.day === date.day && distance(other) < distance(nearest) ? other : nearest
  }, date)
}
