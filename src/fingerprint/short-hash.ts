// HalfSipHash-2-4: a keyed hash for a few characters, without a call out of JavaScript (a fraction of what one costs).
// Its 64-bit key is good enough only because each record has its own, never stored one (see keys.ts).

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** The 32-bit keyed hash of `text` as six characters. */
export function shortHash(key: Buffer, text: string): string {
  const value = halfSipHash(key, text)
  let letters = ''
  for (let shift = 0; shift < 32; shift += 6) letters += ALPHABET.charAt((value >>> shift) & 63)
  return letters
}

/** Over the text's Latin-1 bytes or, where it has wider characters, its UTF-16LE bytes. */
export function halfSipHash(key: Buffer, text: string): number {
  const wordAt = WIDE.test(text) ? wordOfTwo : wordOfFour
  const words = (wordAt === wordOfTwo ? text.length >> 1 : text.length >> 2) + 1
  let a = key.readInt32LE(0)
  let b = key.readInt32LE(4)
  let c = 0x6c796765 ^ a
  let d = 0x74656462 ^ b
  for (let n = 0; n <= words; n++) {
    // The turn after the last word is the finalisation.
    const word = n < words ? wordAt(text, n) : 0
    if (n === words) c ^= 0xff
    d ^= word
    for (let round = n < words ? 2 : 4; round > 0; round--) {
      a = (a + b) | 0
      b = ((b << 5) | (b >>> 27)) ^ a
      a = (a << 16) | (a >>> 16)
      c = (c + d) | 0
      d = ((d << 8) | (d >>> 24)) ^ c
      a = (a + d) | 0
      d = ((d << 7) | (d >>> 25)) ^ a
      c = (c + b) | 0
      b = ((b << 13) | (b >>> 19)) ^ c
      c = (c << 16) | (c >>> 16)
    }
    a ^= word
  }
  return (b ^ d) >>> 0
}

// oxlint-disable-next-line no-control-regex
const WIDE = /[^\0-\xff]/

/** Little endian; the last word carries what is left, and the length in its highest byte. */
function wordOfFour(text: string, n: number): number {
  const at = n << 2
  const left = text.length - at
  if (left >= 4) {
    return text.charCodeAt(at) | (text.charCodeAt(at + 1) << 8) | (text.charCodeAt(at + 2) << 16) | (text.charCodeAt(at + 3) << 24)
  }
  let word = (text.length & 0xff) << 24
  for (let k = 0; k < left; k++) word |= text.charCodeAt(at + k) << (8 * k)
  return word
}

function wordOfTwo(text: string, n: number): number {
  const at = n << 1
  if (at + 1 < text.length) return text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16)
  return (((text.length << 1) & 0xff) << 24) | (at < text.length ? text.charCodeAt(at) : 0)
}
