// Chinese days: 明天, 下周三, 下个月1号, 三天后. In both scripts; weeks begin on Monday, which the library does not know.
import type { Temporal as TemporalTypes } from 'temporal-polyfill'
import { NUMBER, readNumber } from './chinese-number.ts'
import type { TemporalApi } from './moment.ts'

type Day = TemporalTypes.PlainDate

const DAYS_LATER = new RegExp(`^(${NUMBER})[个個]?(天|日|周|週|星期|礼拜|禮拜)(?:之|以)?[后後]$`, 'u')
const OF_MONTH = new RegExp(`^(上|下|本|这|這)[个個]?月(${NUMBER})[号號日]$`, 'u')
const WEEKDAY = /^(下下|上上|上|下|本|这|這)?[个個]?(?:周|週|星期|礼拜|禮拜)([一二三四五六日天])$/u
const DAYS: Readonly<Record<string, number>> = {
  '': 0,
  今天: 0,
  今日: 0,
  今: 0,
  今儿: 0,
  明天: 1,
  明日: 1,
  明: 1,
  明儿: 1,
  后天: 2,
  後天: 2,
  后日: 2,
  後日: 2,
  大后天: 3,
  大後天: 3,
  昨天: -1,
  昨日: -1,
  昨: -1,
  前天: -2,
  大前天: -3,
}
const WEEKS: Readonly<Record<string, number>> = { 上上: -2, 上: -1, 本: 0, 这: 0, 這: 0, 下: 1, 下下: 2 }

/** Undefined for any other day, such as one of a month by its name. */
export function readChineseDay(text: string, today: Day, Temporal: TemporalApi): Day | undefined {
  const days = Object.hasOwn(DAYS, text) ? DAYS[text] : undefined
  if (days !== undefined) return today.add({ days })
  const [, many, unit] = DAYS_LATER.exec(text) ?? []
  const count = readNumber(many ?? '')
  if (count !== undefined) return today.add({ days: count * (unit === '天' || unit === '日' ? 1 : 7) })
  return readWeekday(text, today) ?? readDayOfMonth(text, today, Temporal)
}

/** Without a word for the week it is the next that comes, today included. */
function readWeekday(text: string, today: Day): Day | undefined {
  const [, week, name] = WEEKDAY.exec(text) ?? []
  if (name === undefined) return undefined
  const weekday = '一二三四五六日'.indexOf(name === '天' ? '日' : name) + 1
  const days = weekday - today.dayOfWeek
  if (week === undefined) return today.add({ days: (days + 7) % 7 })
  return today.add({ days: days + 7 * (WEEKS[week] ?? 0) })
}

function readDayOfMonth(text: string, today: Day, Temporal: TemporalApi): Day | undefined {
  const [, which, written] = OF_MONTH.exec(text) ?? []
  const day = readNumber(written ?? '')
  if (which === undefined || day === undefined) return undefined
  const { year, month } = today.with({ day: 1 }).add({ months: which === '上' ? -1 : which === '下' ? 1 : 0 })
  try {
    return Temporal.PlainDate.from({ year, month, day }, { overflow: 'reject' })
  } catch {
    return undefined
  }
}
