// Chinese numbers up to 99, as dates and times use them, in words or in digits.

/** The source of a pattern. */
export const NUMBER = String.raw`\d{1,3}|[二三四五六七八九]?十[一二三四五六七八九]?|[零〇]?[一二两兩三四五六七八九]|[零〇]`

const DIGITS = '〇一二三四五六七八九'

/** What NUMBER stands for; undefined for the empty text. */
export function readNumber(written: string): number | undefined {
  if (/^\d{1,3}$/.test(written)) return Number(written)
  const text = written.replaceAll(/[两兩]/gu, '二').replaceAll('零', '〇')
  if (text.length === 0) return undefined
  const [tens, ones] = text.includes('十') ? text.split('十') : ['〇', text.slice(-1)]
  return (tens === '' ? 1 : DIGITS.indexOf(tens ?? '')) * 10 + (ones ? DIGITS.indexOf(ones) : 0)
}
