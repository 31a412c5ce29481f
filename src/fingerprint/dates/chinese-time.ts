// Chinese times, which the library reads only in part: 下午3点, 晚上七点一刻, 两小时后, 明天晚上. In both scripts.
import { NUMBER, readNumber } from './chinese-number.ts'

const PERIODS = '凌晨|清晨|早晨|早上|上午|中午|下午|午后|午後|傍晚|晚上|夜里|夜裡|早|晚'
const CLOCK = new RegExp(
  `^(.*?)的?\\s*(${PERIODS})?\\s*(${NUMBER})(?:[点點时時][钟鐘整]?(半|一刻|三刻|(${NUMBER})分?)?|:(\\d{2})(?::(\\d{2}))?)$`,
  'u',
)
const LATER = new RegExp(
  `^(?:(半)[个個]?|(${NUMBER})[个個]?(半)?)(小时|小時|钟头|鐘頭|分钟|分鐘|秒钟|秒鐘|秒|刻钟|刻鐘)(?:之|以)?[后後]$`,
  'u',
)
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

/** The hours that stand for parts of a day, as the library has them for `morning`, `afternoon` and `night`. */
const ABOUT: readonly (readonly [hour: number, words: RegExp])[] = [
  [0, /^凌晨$/u],
  [6, /^(?:清晨|早晨|早上|上午|早)$/u],
  [15, /^(?:下午|午后|午後)$/u],
  [18, /^傍晚$/u],
  [22, /^(?:晚上|夜里|夜裡|晚)$/u],
]
const PART = new RegExp(`^(.*?)的?\\s*(${PERIODS})$`, 'u')

export interface ChinesePart {
  /** What stands before it, to be read as a day. */
  readonly day: string
  /** The usual hour; undefined for noon, which is exact. */
  readonly about: number | undefined
}

/** A part of a day without a time: 明天晚上, 今早, 中午. */
export function readChinesePart(text: string): ChinesePart | undefined {
  const [, day, part] = PART.exec(text) ?? []
  if (day === undefined || part === undefined) return undefined
  return { day: day.trim(), about: ABOUT.find(([, words]) => words.test(part))?.[0] }
}
