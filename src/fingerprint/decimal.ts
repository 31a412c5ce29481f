// JSON numbers by their exact decimal value, without a double's rounding and without writing an exponent out.

/**
 * A number that no double holds exactly enough. It has no own properties, so that a JSONPath sees nothing inside it.
 */
export class ExactNumber {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  /** Sign, digits without zeros at either end, `e`, exponent: one text per value. */
  get text(): string {
    return this.#text
  }
}

/** Decimals of up to 15 digits survive the way through a double and back; more may not (IEEE 754-2008 5.12.2). */
export const SAFE_DIGITS = 15
/** Well inside the doubles' normal range, where those 15 digits hold. */
const SAFE_EXPONENT = 290
/** Exponents longer than this mean nothing, and would cost time. */
const EXPONENT_DIGITS = 100

const PARTS = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** The value of an RFC 8259 number; undefined where its exponent is absurdly long. */
export function decimal(literal: string): number | ExactNumber | undefined {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = PARTS.exec(literal) ?? []
  if (exponent.length > EXPONENT_DIGITS) return undefined
  const { digits, dropped } = trimZeros(whole + fraction)
  if (digits === '') return 0
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(dropped)
  const text = `${sign}${digits}e${power}`
  const magnitude = power + BigInt(digits.length)
  const safe = digits.length <= SAFE_DIGITS && magnitude <= SAFE_EXPONENT && magnitude >= -SAFE_EXPONENT
  return safe ? Number(text) : new ExactNumber(text)
}

/** A value as sign, digits and a power of ten; the digits neither start nor end with a zero but for the value 0. */
export interface DecimalParts {
  readonly negative: boolean
  readonly digits: string
  readonly exponent: bigint
}

export function decimalParts(value: number | ExactNumber): DecimalParts {
  const text = value instanceof ExactNumber ? value.text : String(value)
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = PARTS.exec(text) ?? []
  const { digits, dropped } = trimZeros(whole + fraction)
  return { negative: sign === '-', digits: digits || '0', exponent: BigInt(exponent) - BigInt(fraction.length) + BigInt(dropped) }
}

/** By hand: a regular expression for the end takes quadratic time over a long run of zeros. `dropped` counts those at the end. */
function trimZeros(all: string): { digits: string; dropped: number } {
  let start = 0
  let end = all.length
  while (start < end && all.charCodeAt(start) === 0x30) start++
  while (end > start && all.charCodeAt(end - 1) === 0x30) end--
  return { digits: all.slice(start, end), dropped: all.length - end }
}

/** Beyond this many zeros a number is written with its exponent. */
const WRITTEN_ZEROS = 400n

/** The number as people write it, one text per value. */
export function numberText(value: number | ExactNumber): string {
  const { negative, digits, exponent } = decimalParts(value)
  const sign = negative && digits !== '0' ? '-' : ''
  if (digits === '0') return '0'
  if (exponent > WRITTEN_ZEROS || -exponent > WRITTEN_ZEROS + BigInt(digits.length)) return `${sign}${digits}e${exponent}`
  if (exponent >= 0n) return sign + digits + '0'.repeat(Number(exponent))
  const places = Number(-exponent)
  const padded = digits.padStart(places + 1, '0')
  return `${sign}${padded.slice(0, -places)}.${padded.slice(-places)}`
}

/** To so many places, halves away from zero; by decimal digits, so that 1.005 is 1.01 and not what a double makes of it. */
export function roundDecimal(value: number | ExactNumber, places: number): number | ExactNumber {
  const { negative, digits, exponent } = decimalParts(value)
  const surplus = BigInt(-places) - exponent
  if (surplus <= 0n) return value
  if (surplus > BigInt(digits.length)) return 0
  const kept = digits.length - Number(surplus)
  const up = digits.charCodeAt(kept) >= 0x35 ? 1n : 0n
  const rounded = BigInt(digits.slice(0, kept) || '0') + up
  return decimal(`${negative ? '-' : ''}${rounded}e${-places}`) ?? 0
}
