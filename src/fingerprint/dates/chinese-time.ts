// Chinese times, which the library reads only in part: 下午3点, 晚上七点一刻, 两小时后, 下个月1号. In both scripts.
import type { Temporal as TemporalTypes } from 'temporal-polyfill'
import type { Moment, TemporalApi } from './moment.ts'

const NUMBER = String.raw`\d{1,3}|[二三四五六七八九]?十[一二三四五六七八九]?|[零〇]?[一二两兩三四五六七八九]|[零〇]`
const PERIODS = '凌晨|清晨|早晨|早上|上午|中午|下午|午后|午後|傍晚|晚上|夜里|夜裡|早|晚'
const CLOCK = new RegExp(
  `^(.*?)的?\\s*(${PERIODS})?\\s*(${NUMBER})(?:[点點时時][钟鐘整]?(半|一刻|三刻|(${NUMBER})分?)?|:(\\d{2})(?::(\\d{2}))?)$`,
  'u',
)
const LATER = new RegExp(
  `^(?:(半)[个個]?|(${NUMBER})[个個]?(半)?)(小时|小時|钟头|鐘頭|分钟|分鐘|秒钟|秒鐘|秒|刻钟|刻鐘)(?:之|以)?[后後]$`,
  'u',
)
const DAYS_LATER = new RegExp(`^(${NUMBER})[个個]?(天|日|周|週|星期|礼拜|禮拜)(?:之|以)?[后後]$`, 'u')
const OF_MONTH = new RegExp(`^(上|下|本|这|這)[个個]?月(${NUMBER})[号號日]$`, 'u')
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
}
const DIGITS = '〇一二三四五六七八九'
const SECONDS: Readonly<Record<string, number>> = { 小: 3600, 钟: 3600, 鐘: 3600, 分: 60, 秒: 1, 刻: 900 }

/** Spans are read here or not at all: the library counts them in the zone of the process. */
export const CHINESE_SPAN = /[后後前内內]$/u

/** The span from now in 两小时后, 半小时后, 一个半小时后, 十分钟后. */
export function readChineseSpan(text: string): { seconds: number } | undefined {
  const found = LATER.exec(text)
  if (found === null) return undefined
  const [, half, written, andHalf, unit = ''] = found
  const amount = half === undefined ? readNumber(written ?? '') : 0.5
  const seconds = SECONDS[unit.charAt(0)]
  if (amount === undefined || seconds === undefined) return undefined
  return { seconds: (amount + (andHalf === undefined ? 0 : 0.5)) * seconds }
}

export interface ChineseClock {
  /** What stands before the time, to be read as a day. */
  readonly day: string
  readonly hour: number
  readonly minute: number
  readonly second: number
  /** 晚上12点 is the midnight at the day's end. */
  readonly nextDay: boolean
}

export function readChineseClock(text: string): ChineseClock | undefined {
  const found = CLOCK.exec(text)
  if (found === null) return undefined
  const [, day = '', period, writtenHour = '', words, writtenMinute, colonMinute, colonSecond] = found
  const hour = readNumber(writtenHour)
  const minute = words === '半' ? 30 : words === '一刻' ? 15 : words === '三刻' ? 45 : readNumber(writtenMinute ?? colonMinute ?? '0')
  if (hour === undefined || minute === undefined || hour > 24 || minute > 59) return undefined
  const midnight = hour === 24 || (hour === 12 && period !== undefined && /[晚夜]/u.test(period) && period !== '傍晚')
  return {
    day: day.trim(),
    hour: midnight ? 0 : onFullClock(hour, period),
    minute,
    second: Number(colonSecond ?? 0),
    nextDay: midnight,
  }
}

function onFullClock(hour: number, period: string | undefined): number {
  if (period === undefined || hour > 12) return hour
  if (/^(?:下午|午后|午後|傍晚|晚上|晚)$/u.test(period)) return hour < 12 ? hour + 12 : 12
  if (period === '中午') return hour < 4 ? hour + 12 : hour
  return hour === 12 && period !== '上午' ? 0 : hour
}

/** The words for days that need no calendar of weeks; undefined for any other. */
export function readChineseDay(text: string, today: TemporalTypes.PlainDate, Temporal: TemporalApi): Moment | undefined {
  const days = Object.hasOwn(DAYS, text) ? DAYS[text] : undefined
  if (days !== undefined) return { kind: 'wall', date: today.add({ days }) }
  const [, many, unit] = DAYS_LATER.exec(text) ?? []
  const count = readNumber(many ?? '')
  if (count !== undefined) return { kind: 'wall', date: today.add({ days: count * (unit === '天' || unit === '日' ? 1 : 7) }) }
  const [, which, written] = OF_MONTH.exec(text) ?? []
  const day = readNumber(written ?? '')
  if (which === undefined || day === undefined) return undefined
  const { year, month } = today.with({ day: 1 }).add({ months: which === '上' ? -1 : which === '下' ? 1 : 0 })
  try {
    return { kind: 'wall', date: Temporal.PlainDate.from({ year, month, day }, { overflow: 'reject' }) }
  } catch {
    return undefined
  }
}

/** What NUMBER stands for, in digits or in words. */
function readNumber(written: string): number | undefined {
  if (/^\d{1,3}$/.test(written)) return Number(written)
  const text = written.replaceAll(/[两兩]/gu, '二').replaceAll('零', '〇')
  if (text.length === 0) return undefined
  const [tens, ones] = text.includes('十') ? text.split('十') : ['〇', text.slice(-1)]
  return (tens === '' ? 1 : DIGITS.indexOf(tens ?? '')) * 10 + (ones ? DIGITS.indexOf(ones) : 0)
}
