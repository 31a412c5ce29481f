// The ids that the gateway gives to events which have none: `<execution>-<n>`, the n-th event of that execution.

/** `n` counts from 1; 0 stands for the stream's start, before its first event. */
export function eventId(executionId: string, n: number): string {
  return `${executionId}-${n}`
}

/** The n of an id of this execution; undefined where it names another one, or none. */
export function eventOrdinal(id: string, executionId: string): number | undefined {
  if (!id.startsWith(`${executionId}-`)) return undefined
  const digits = id.slice(executionId.length + 1)
  return /^(?:0|[1-9]\d{0,14})$/.test(digits) ? Number(digits) : undefined
}
