// Strict JSON (RFC 8259) that keeps what JSON.parse loses: exact numbers, repeated keys, `__proto__` as a key.
import { isAscii, isUtf8 } from 'node:buffer'
import { JsonReader } from './json-reader.ts'
import { JsonError, type JsonValue } from './json-value.ts'

/** Reads one JSON text; throws a JsonError. */
export function parseJson(source: string | Buffer): JsonValue {
  const text = typeof source === 'string' ? source : decode(source)
  // RFC 8259 section 8.1: a parser may ignore a byte order mark.
  return new JsonReader(text, text.charCodeAt(0) === 0xfeff ? 1 : 0).read()
}

function decode(bytes: Buffer): string {
  if (isAscii(bytes)) return bytes.toString('latin1')
  // Decoding would turn every invalid byte into one and the same U+FFFD.
  if (!isUtf8(bytes)) throw new JsonError('the text is not UTF-8', 0)
  return bytes.toString()
}
