// HalfSipHash-2-4 over a text's UTF-16 code units: a keyed hash for a few characters, without a call out of JavaScript.
// Its 64-bit key is good enough only because each record has its own, never stored one (see keys.ts).

const state = new Int32Array(4)

/** The 32-bit keyed hash of `text` as six base64url-like characters. */
export function shortHash(key: Buffer, text: string): string {
  return letters(halfSipHash(key, text))
}

/** `text` is read as its UTF-16LE bytes; the result is an unsigned 32-bit number. */
export function halfSipHash(key: Buffer, text: string): number {
  const k0 = key.readInt32LE(0)
  const k1 = key.readInt32LE(4)
  state[0] = k0
  state[1] = k1
  state[2] = 0x6c796765 ^ k0
  state[3] = 0x74656462 ^ k1
  const { length } = text
  const even = length & ~1
  for (let at = 0; at < even; at += 2) absorb(text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16))
  absorb((((length * 2) & 0xff) << 24) | (even < length ? text.charCodeAt(even) : 0))
  finish()
  return ((state[1] ?? 0) ^ (state[3] ?? 0)) >>> 0
}

function absorb(word: number): void {
  state[3] = (state[3] ?? 0) ^ word
  rounds(2)
  state[0] = (state[0] ?? 0) ^ word
}

function finish(): void {
  state[2] = (state[2] ?? 0) ^ 0xff
  rounds(4)
}

function rounds(count: number): void {
  let a = state[0] ?? 0
  let b = state[1] ?? 0
  let c = state[2] ?? 0
  let d = state[3] ?? 0
  for (let n = 0; n < count; n++) {
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
  state[0] = a
  state[1] = b
  state[2] = c
  state[3] = d
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

function letters(value: number): string {
  let text = ''
  for (let shift = 0; shift < 36; shift += 6) text += ALPHABET.charAt(shift < 32 ? (value >>> shift) & 63 : 0)
  return text
}
