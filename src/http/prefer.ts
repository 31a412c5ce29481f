// Reads the Prefer header (RFC 7240), which is older than structured fields: names in any case, values quoted or not.

/** Whole seconds of `wait=N` (RFC 7240 4.3); undefined where it is absent or not a number. */
export function preferredWait(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  for (const preference of header.split(',')) {
    const [, seconds] = /^\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:;.*)?$/i.exec(preference) ?? []
    if (seconds !== undefined) return Number(seconds)
  }
  return undefined
}

/** `respond-async` (RFC 7240 4.1). */
export function prefersAsync(header: string | undefined): boolean {
  return header !== undefined && header.split(',').some((preference) => /^\s*respond-async\s*(?:[;=].*)?$/i.test(preference))
}
