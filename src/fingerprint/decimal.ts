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
  const all = whole + fraction
  let start = 0
  let end = all.length
  while (start < end && all.charCodeAt(start) === 0x30) start++
  while (end > start && all.charCodeAt(end - 1) === 0x30) end--
  if (start === end) return 0
  const digits = all.slice(start, end)
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(all.length - end)
  const text = `${sign}${digits}e${power}`
  const magnitude = power + BigInt(digits.length)
  const safe = digits.length <= SAFE_DIGITS && magnitude <= SAFE_EXPONENT && magnitude >= -SAFE_EXPONENT
  return safe ? Number(text) : new ExactNumber(text)
}
