// Percent-encoding (RFC 3986 section 2.1), read so that nothing invalid looks like something valid.

/** The text in ASCII: a raw byte beyond it, as lenient servers let pass, becomes its percent-encoded self. */
export function toAscii(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return /^[\0-\x7f]*$/.test(text) ? text : text.replace(/[^\0-\x7f]/gu, encodeRaw)
}

function encodeRaw(character: string): string {
  const code = character.codePointAt(0) ?? 0
  // Node hands the bytes of a request target over as one Latin-1 character each.
  const bytes = code <= 0xff ? [code] : [...Buffer.from(character)]
  return bytes.map((byte) => `%${byte.toString(16).toUpperCase()}`).join('')
}

/** Decoded; undefined where an escape is malformed or its bytes are not UTF-8. */
export function percentDecode(text: string): string | undefined {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
