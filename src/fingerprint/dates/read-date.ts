// The step `date`: one date or time in many spellings, read against the request's arrival in the rule's zone.
import type { DateSetting } from '../../config/step-schema.ts'
import { readChineseClock, readChineseDay, readChineseSpan } from './chinese-time.ts'
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
    const moment = (locale === 'zh' ? readChinese(text, received, tools) : undefined) ?? readLibraryDate(text, locale, received, tools)
    if (moment !== undefined) return moment
  }
  return undefined
}

function readChinese(text: string, received: Received, tools: DateTools): Moment | undefined {
  const span = readChineseSpan(text)
  if (span !== undefined) return { kind: 'instant', instant: received.instant.add({ seconds: span.seconds }) }
  const clock = readChineseClock(text)
  if (clock === undefined) return readChineseDay(text, received.today, tools.Temporal)
  const day = readDay(clock.day, received, tools)
  if (day?.kind !== 'wall' || day.time !== undefined || clock.hour > 23 || clock.second > 59) return undefined
  const { hour, minute, second } = clock
  return {
    kind: 'wall',
    date: day.date.add({ days: clock.nextDay ? 1 : 0 }),
    time: tools.Temporal.PlainTime.from({ hour, minute, second }),
  }
}

function readDay(text: string, received: Received, tools: DateTools): Moment | undefined {
  const iso = readIsoDate(text, tools.Temporal)
  if (iso !== undefined) return iso === 'invalid' ? undefined : iso
  return readChineseDay(text, received.today, tools.Temporal) ?? readLibraryDate(text, 'zh', received, tools)
}
