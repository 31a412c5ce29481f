// The ids that the gateway gives to events which have none: `<fingerprint>.<execution>-<n>`, the n-th event of that execution.

/** `n` counts from 1; 0 stands for the stream's start, before its first event. */
export function eventId({ fingerprint, executionId }: { fingerprint: string; executionId: string }, n: number): string {
  return `${fingerprint}.${executionId}-${n}`
}

/** The n of an id of this execution; undefined where it names another one, or none. */
export function eventOrdinal(id: string, executionId: string): number | undefined {
  const named = id.slice(id.indexOf('.') + 1)
  if (!named.startsWith(`${executionId}-`)) return undefined
  const digits = named.slice(executionId.length + 1)
  return /^(?:0|[1-9]\d{0,14})$/.test(digits) ? Number(digits) : undefined
}

/** The fingerprint that an id of this form names, whether it was issued or not. */
export function fingerprintOfEvent(id: string): string | undefined {
  return /^([A-Za-z0-9_-]+)\.[0-9a-f-]{36}-\d{1,15}$/.exec(id)?.[1]
}
