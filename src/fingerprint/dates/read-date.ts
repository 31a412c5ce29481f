// The step `date`: one date or time in many spellings, read against the request's arrival in the rule's zone.
import type { DateSetting } from '../../config/step-schema.ts'
import { readChineseDay } from './chinese-day.ts'
import { readChineseClock, readChinesePart, readChineseSpan, type ChineseClock } from './chinese-time.ts'
import { readIsoDate } from './iso-date.ts'
import { readLibraryDate, type ChronoApi, type Received } from './library-date.ts'
import { writeMoment, type Moment, type TemporalApi } from './moment.ts'

export interface DateTools {
  readonly chrono: ChronoApi
  readonly Temporal: TemporalApi
}

/** No date is longer. */
const MAX_DATE = 128

/** Loaded only where a rule reads dates: the libraries take a tenth of a second. */
export async function loadDateTools(): Promise<DateTools> {
  const [chrono, { Temporal }] = await Promise.all([import('chrono-node'), import('temporal-polyfill')])
  return { chrono, Temporal }
}

/** Undefined where the text is no date, or more than one. */
export function dateReader(setting: DateSetting, tools: DateTools): (text: string, receivedAt: number) => string | undefined {
  return (text, receivedAt) => {
    if (text.length > MAX_DATE) return undefined
    const instant = tools.Temporal.Instant.fromEpochMilliseconds(receivedAt)
    const received = { instant, today: instant.toZonedDateTimeISO(setting.zone).toPlainDate() }
    const plain = text.normalize('NFKC').trim().replaceAll(/\s+/gu, ' ')
    const moment = readMoment(plain, setting, received, tools)
    return moment === undefined ? undefined : writeMoment(moment, setting)
  }
}

function readMoment(text: string, setting: DateSetting, received: Received, tools: DateTools): Moment | undefined {
  if (text === '') return undefined
  const iso = readIsoDate(text, tools.Temporal)
  if (iso !== undefined) return iso === 'invalid' ? undefined : iso
  for (const locale of setting.locales) {
    const moment = locale === 'zh' ? readChinese(text, received, tools) : readLibraryDate(text, locale, received, tools)
    if (moment !== undefined) return moment
  }
  return undefined
}

function readChinese(text: string, received: Received, tools: DateTools): Moment | undefined {
  const span = readChineseSpan(text)
  if (span !== undefined) return { kind: 'instant', instant: received.instant.add({ seconds: span.seconds }) }
  const clock = readChineseClock(text)
  if (clock !== undefined) return readClock(clock, received, tools)
  const part = readChinesePart(text)
  if (part === undefined) return readDay(text, received, tools)
  const date = dateOnly(readDay(part.day, received, tools))
  if (date === undefined) return undefined
  return part.about === undefined
    ? { kind: 'wall', date, time: tools.Temporal.PlainTime.from('12:00') }
    : { kind: 'wall', date, about: part.about }
}

function readClock(clock: ChineseClock, received: Received, tools: DateTools): Moment | undefined {
  const date = dateOnly(readDay(clock.day, received, tools))
  if (date === undefined || clock.hour > 23 || clock.second > 59) return undefined
  const { hour, minute, second } = clock
  return {
    kind: 'wall',
    date: date.add({ days: clock.nextDay ? 1 : 0 }),
    time: tools.Temporal.PlainTime.from({ hour, minute, second }),
  }
}

function dateOnly(moment: Moment | undefined): Extract<Moment, { kind: 'wall' }>['date'] | undefined {
  return moment?.kind === 'wall' && moment.time === undefined && moment.about === undefined ? moment.date : undefined
}

function readDay(text: string, received: Received, tools: DateTools): Moment | undefined {
  const iso = readIsoDate(text, tools.Temporal)
  if (iso !== undefined) return iso === 'invalid' ? undefined : iso
  const date = readChineseDay(text, received.today, tools.Temporal)
  return date === undefined ? readLibraryDate(text, 'zh', received, tools) : { kind: 'wall', date }
}
